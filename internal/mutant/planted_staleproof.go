//go:build mutant_staleproof

package mutant

const planted = "staleproof"
