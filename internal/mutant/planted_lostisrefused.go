//go:build mutant_lostisrefused

package mutant

const planted = "lostisrefused"
