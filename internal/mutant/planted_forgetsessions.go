//go:build mutant_forgetsessions

package mutant

const planted = "forgetsessions"
