//go:build race

package integration

import "time"

// The race detector multiplies the work by ten, and sees no more in many runs of the
// same code than in a few.
const (
	raceEnabled = true
	simSeeds    = 4     // simulations in the short profile
	linkFlaps   = 40    // failures of a link in a simulation
	leaderFlaps = 5     // of a leader's links
	maxRecords  = 5_000 // of real data
	bankTime    = 12 * time.Second
)
