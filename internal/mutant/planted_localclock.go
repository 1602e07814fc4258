//go:build mutant_localclock

package mutant

const planted = "localclock"
