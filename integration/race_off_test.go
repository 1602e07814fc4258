//go:build !race

package integration

import "time"

const (
	raceEnabled = false
	simSeeds    = 10     // simulations in the short profile
	linkFlaps   = 150    // failures of a link in a simulation
	leaderFlaps = 40     // of a leader's links
	maxRecords  = 20_000 // of real data
	bankTime    = 25 * time.Second
)
