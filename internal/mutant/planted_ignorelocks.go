//go:build mutant_ignorelocks

package mutant

const planted = "ignorelocks"
