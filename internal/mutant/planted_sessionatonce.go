//go:build mutant_sessionatonce

package mutant

const planted = "sessionatonce"
