//go:build mutant_reuseversion

package mutant

const planted = "reuseversion"
