//go:build mutant_ackatpropose

package mutant

const planted = "ackatpropose"
