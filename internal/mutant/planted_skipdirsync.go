//go:build mutant_skipdirsync

package mutant

const planted = "skipdirsync"
