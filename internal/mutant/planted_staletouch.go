//go:build mutant_staletouch

package mutant

const planted = "staletouch"
