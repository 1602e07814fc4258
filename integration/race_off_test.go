//go:build !race

package integration

const (
	raceEnabled = false
	simSeeds    = 10     // simulations in the short profile
	maxRecords  = 20_000 // of real data
)
