//go:build mutant_skipround

package mutant

const planted = "skipround"
