package storage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// writeBack has the disk begin to write these bytes of the file, and waits for nothing.
func writeBack(f *os.File, from, bytes int64) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SyncFileRange(int(fd), from, bytes, unix.SYNC_FILE_RANGE_WRITE) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("writing %s back: %w", f.Name(), err)
	}
	return nil
}
