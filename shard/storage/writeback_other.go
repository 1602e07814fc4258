//go:build !linux

package storage

import "os"

// writeBack leaves it to the system when it writes.
func writeBack(*os.File, int64, int64) error { return nil }
