//go:build !race

package integration

import "time"

const (
	raceEnabled = false
	simSeeds    = 10     // simulations in the short profile
	leaderFlaps = 40     // failures of a leader's links in a simulation
	maxRecords  = 20_000 // of real data
	bankTime    = 25 * time.Second
)
