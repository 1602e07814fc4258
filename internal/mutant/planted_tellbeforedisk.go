//go:build mutant_tellbeforedisk

package mutant

const planted = "tellbeforedisk"
