//go:build mutant_localtouch

package mutant

const planted = "localtouch"
