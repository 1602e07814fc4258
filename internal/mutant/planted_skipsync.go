//go:build mutant_skipsync

package mutant

const planted = "skipsync"
