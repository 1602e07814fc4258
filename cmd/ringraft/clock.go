//go:build !testclock

package main

// nodeClock returns nil: a node has the clock of package shard.
func nodeClock() func() int64 { return nil }
