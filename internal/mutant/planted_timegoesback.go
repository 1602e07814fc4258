//go:build mutant_timegoesback

package mutant

const planted = "timegoesback"
