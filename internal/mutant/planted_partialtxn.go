//go:build mutant_partialtxn

package mutant

const planted = "partialtxn"
