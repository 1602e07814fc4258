//go:build mutant_latecommit

package mutant

const planted = "latecommit"
