//go:build mutant_writebehindfailure

package mutant

const planted = "writebehindfailure"
