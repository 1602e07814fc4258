package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// relaxTimers gives the processes that this goroutine starts the timer slack of Ringraft's
// nodes, without which the monitors of Go's runtime take a part of both cores.
func relaxTimers() {
	runtime.LockOSThread() // whose slack they take
	const setTimerSlack = 29
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, uintptr(time.Millisecond), 0) // else they are slower
}
