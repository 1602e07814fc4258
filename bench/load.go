package bench

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/ringraft/ringraft/op"
)

const (
	// MaxCallers is the most callers of a load.
	MaxCallers = 1 << 16
	// MaxBatch is the most requests that a caller sends together.
	MaxBatch = 1024

	awayAfter    = 10 * time.Second       // without an answer: the store is away
	errorPause   = 10 * time.Millisecond  // of a closed loop's caller whose request failed
	shortestPart = 100 * time.Millisecond // of the series, and between looks at the clock
	seriesPoints = 100                    // at most
)

// Load is a load on a store. All fields but those with a default must be set.
type Load struct {
	Store    Store
	Work     Workload
	Callers  int           // 1 to MaxCallers
	Batch    int           // the requests that a caller sends together; 0: 1
	Rate     float64       // requests/s that are due, of an open loop; 0: a closed loop
	Backlog  int           // requests of an open loop that may wait; more are given up
	Requests int64         // that are sent at most; 0: any number
	Duration time.Duration // that the measurement takes at most
	// Progress, unless it is nil, is told now and then how much of the measurement is over.
	Progress func(elapsed time.Duration)
}

// Run puts the load on and returns what it measured, also together with an error. That
// matches op.ErrUnavailable if nothing was answered for ten seconds, and ctx's error if
// that ended. Of a closed loop, answers within Duration count; of an open
// one, all answers to what was due within it.
func (l *Load) Run(ctx context.Context) (Result, error) {
	m := newMeter(l.Store.Groups())
	p := l.pace()
	running, stop := context.WithTimeoutCause(ctx, l.Duration, errTimeIsUp)
	defer stop()
	var wg sync.WaitGroup
	for i := range l.Callers {
		wg.Go(func() { l.call(running, m, p, i) })
	}
	idle := make(chan struct{})
	go func() { wg.Wait(); close(idle) }() // ends with the callers, which this waits for
	err := l.watch(running, m, idle)
	stop()
	stopped := min(m.elapsed(), l.Duration)
	if l.Rate == 0 {
		m.end(stopped)
	}
	<-idle
	if l.Rate > 0 {
		m.end(m.elapsed())
	}
	r := m.result()
	r.Unsent = p.unsent(min(stopped, l.Duration-1))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // an interrupt
	}
	return r, err
}

var errTimeIsUp = errors.New("the time is up")

func (l *Load) pace() pace {
	requests := l.Requests
	if requests == 0 {
		requests = math.MaxInt64 / 2
	}
	if l.Rate > 0 {
		return newOpenLoop(l.Rate, l.Backlog, l.Duration, requests)
	}
	return newClosedLoop(requests)
}

// watch cuts the series until running ends or the callers are idle. It returns early
// with an error when the store is away.
func (l *Load) watch(running context.Context, m *meter, idle <-chan struct{}) error {
	tick := time.NewTicker(max(shortestPart, l.Duration/seriesPoints))
	defer tick.Stop()
	for {
		select {
		case <-running.Done():
			return nil
		case <-idle:
			return nil
		case <-tick.C:
		}
		if running.Err() != nil || m.elapsed() >= l.Duration {
			return nil
		}
		m.cut(m.elapsed())
		if l.Progress != nil {
			l.Progress(min(m.elapsed(), l.Duration))
		}
		if still := m.stillFor(); still > awayAfter {
			return op.Unavailable("no request was answered for %v", still.Round(time.Millisecond))
		}
	}
}

// call sends the requests of the n-th caller until running ends or the pace says so.
// The last ones may last longer: calling them off would leave their outcome unknown.
func (l *Load) call(running context.Context, m *meter, p pace, n int) {
	ctx := context.WithoutCancel(running)
	caller := l.Store.Caller(n)
	defer caller.Close()
	requests := newDrawer(&l.Work, n)
	batch := make([]Request, max(1, l.Batch))
	for running.Err() == nil {
		taken := batch[:p.take(running, m.elapsed, batch)]
		if len(taken) == 0 {
			return
		}
		for i := range taken {
			requests.draw(&taken[i])
		}
		caller.Do(ctx, taken)
		now := m.elapsed()
		if l.Rate == 0 && now > l.Duration {
			return
		}
		m.record(n, now, taken, l.Store.Group)
		if l.Rate == 0 && failed(taken) {
			pause(running, errorPause)
		}
	}
}

func failed(batch []Request) bool {
	for i := range batch {
		if batch[i].Err != nil {
			return true
		}
	}
	return false
}
