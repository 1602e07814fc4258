package sharedlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes sure that there is room for a file of size bytes, at once where the file
// system can do that.
func reserve(f *os.File, size int64) error {
	for {
		switch err := unix.Fallocate(int(f.Fd()), 0, 0, size); err {
		case unix.EINTR:
		case unix.EOPNOTSUPP:
			return nil
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// syncContent puts a file's content on disk, and of its attributes only the size.
func syncContent(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
