//go:build race

package integration

import "time"

// The race detector multiplies the work by ten, and sees no more in many runs of the
// same code than in a few.
const (
	raceEnabled = true
	simSeeds    = 4     // simulations in the short profile
	leaderFlaps = 5     // failures of a leader's links in a simulation
	maxRecords  = 5_000 // of real data
	bankTime    = 12 * time.Second
)
