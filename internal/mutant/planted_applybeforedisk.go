//go:build mutant_applybeforedisk

package mutant

const planted = "applybeforedisk"
