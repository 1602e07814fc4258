// Package bubble runs tests in fake time.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test], on one processor where the race detector watches: it crashes
// when two goroutines of a bubble have timers fire at the same moment
// (https://github.com/golang/go/issues/78156, in Go 1.26.8).
func Test(t *testing.T, f func(t *testing.T)) {
	if raceDetector {
		alone.enter()
		defer alone.leave()
	}
	synctest.Test(t, f)
}

// alone holds the program to one processor while any bubble runs.
var alone processors

type processors struct {
	mu      sync.Mutex
	bubbles int
	before  int // processors when the first of them began
}

func (p *processors) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bubbles == 0 {
		p.before = runtime.GOMAXPROCS(1)
	}
	p.bubbles++
}

func (p *processors) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bubbles--
	if p.bubbles == 0 {
		runtime.GOMAXPROCS(p.before)
	}
}
