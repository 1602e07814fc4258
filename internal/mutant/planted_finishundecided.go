//go:build mutant_finishundecided

package mutant

const planted = "finishundecided"
