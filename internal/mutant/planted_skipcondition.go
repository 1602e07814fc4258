//go:build mutant_skipcondition

package mutant

const planted = "skipcondition"
