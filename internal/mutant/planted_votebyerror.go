//go:build mutant_votebyerror

package mutant

const planted = "votebyerror"
