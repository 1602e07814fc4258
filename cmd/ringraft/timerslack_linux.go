package main

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack is how late the kernel may wake a thread that sleeps. While a process is
// busy now and then, the Go runtime's monitor asks to be woken every 20 µs, which with the
// usual slack of 50 µs takes about an eighth of all that a node computes under writes, and
// a twentieth of what their load does. Nothing there waits for less than a millisecond.
const timerSlack = time.Millisecond

// relaxTimers has the process run with timerSlack. A thread takes the slack of the one
// that creates it, and the monitor is there before main, so the process sets it and then
// executes itself again, once. What fails changes nothing but the speed.
func relaxTimers() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack >= int(timerSlack) {
		return
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0); err != nil {
		return
	}
	// A thread with real-time priority has no slack, whatever it asks for.
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack < int(timerSlack) {
		return
	}
	if program, err := os.Executable(); err == nil {
		_ = syscall.Exec(program, os.Args, os.Environ())
	}
}
