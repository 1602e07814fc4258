//go:build !unix

package stream

import "errors"

// Sockets are left to package net.
const direct = false

func read(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
func write(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
