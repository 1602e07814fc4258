package sharedlog

import "errors"

var (
	// ErrCorrupt: something that was written is missing or not as it was written.
	ErrCorrupt = errors.New("corrupt log")
	// ErrClosed: the log was closed, or the view was dropped.
	ErrClosed = errors.New("log is closed")
)
