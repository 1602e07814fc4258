//go:build mutant_newsequence

package mutant

const planted = "newsequence"
