//go:build mutant_executetwice

package mutant

const planted = "executetwice"
