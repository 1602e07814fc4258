//go:build mutant_halfvisible

package mutant

const planted = "halfvisible"
