//go:build !mutant

package mutant

const planted = ""
