//go:build mutant_wipedmember

package mutant

const planted = "wipedmember"
