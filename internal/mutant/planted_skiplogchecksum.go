//go:build mutant_skiplogchecksum

package mutant

const planted = "skiplogchecksum"
