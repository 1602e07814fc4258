//go:build mutant_clampunasked

package mutant

const planted = "clampunasked"
