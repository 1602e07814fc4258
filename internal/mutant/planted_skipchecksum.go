//go:build mutant_skipchecksum

package mutant

const planted = "skipchecksum"
