package storage

import "errors"

// Why a data directory or a replica is refused. Errors wrap these and say what to do.
var (
	// ErrLocked: another process has the directory open.
	ErrLocked = errors.New("locked by another process")
	// ErrForeign: the directory belongs to another node.
	ErrForeign = errors.New("belongs to another node")
	// ErrNewer: a newer version of the program wrote it.
	ErrNewer = errors.New("written in a newer format")
	// ErrDamaged: something that was written is missing or not as it was written.
	ErrDamaged = errors.New("damaged")
	// ErrFormed: the node already belongs to a cluster.
	ErrFormed = errors.New("already formed")
	// ErrClosed: the replica or its directory was closed.
	ErrClosed = errors.New("storage is closed")
)
