//go:build testclock

package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// clockFile is the environment's variable that names a file, which holds by how many
// ms the node's clock is ahead. Only the build that tests make has it.
const clockFile = "TESTCLOCK_FILE"

// nodeClock returns the right time, moved by what the file holds at the moment. A file
// that holds no number moves nothing.
func nodeClock() func() int64 {
	path := os.Getenv(clockFile)
	start := time.Now()
	return func() int64 {
		ahead := int64(0)
		if b, err := os.ReadFile(path); err == nil {
			ahead, _ = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		}
		return start.UnixMilli() + time.Since(start).Milliseconds() + ahead
	}
}
