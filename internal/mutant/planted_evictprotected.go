//go:build mutant_evictprotected

package mutant

const planted = "evictprotected"
