package storage

import (
	"sync"
	"sync/atomic"
	"time"
)

// watchdog notices writes that do not return. A disk that hangs, rather than fails,
// would otherwise go unseen: heartbeats need no disk, so a leader that can store
// nothing would keep its office.
type watchdog struct {
	after   time.Duration
	onStall func(what string, since time.Time)

	stalls atomic.Int32   // writes that are overdue now
	wg     sync.WaitGroup // counts armed timers, and calls of onStall that run
}

func newWatchdog(cfg Config) *watchdog {
	return &watchdog{after: cfg.StallAfter, onStall: cfg.OnStall}
}

// time runs a write and returns its error. If the write is overdue, onStall is told.
func (w *watchdog) time(what string, write func() error) error {
	since := time.Now()
	w.wg.Add(1)
	t := time.AfterFunc(w.after, func() {
		defer w.wg.Done()
		w.stalls.Add(1)
		w.onStall(what, since)
	})
	err := write()
	if t.Stop() {
		w.wg.Done()
	} else {
		w.stalls.Add(-1)
	}
	return err
}

func (w *watchdog) stalled() bool { return w.stalls.Load() > 0 }

// wait waits for calls of onStall. No write may begin any more.
func (w *watchdog) wait() { w.wg.Wait() }
