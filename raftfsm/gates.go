package raftfsm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// gates lets those through who wait for an index. All who wait for one index share
// its gate, so arriving there costs one close, however many they are. The zero value
// stands at index 0.
type gates struct {
	mu      sync.Mutex
	reached uint64
	halted  error
	closed  []*gate // by index, ascending; each has somebody waiting
}

type gate struct {
	index   uint64
	waiting int
	err     error         // set before passed is closed
	passed  chan struct{} // closed when the index is reached or never will be
}

// wait returns nil once index is reached.
func (g *gates) wait(ctx context.Context, index uint64) error {
	at, err := g.join(index)
	if at == nil {
		return err
	}
	select {
	case <-at.passed:
		return at.err
	case <-ctx.Done():
		g.leave(at)
		return fmt.Errorf("wait for index %d: %w", index, context.Cause(ctx))
	}
}

// join returns the gate to wait at, or nil and the outcome if there is no need to.
func (g *gates) join(index uint64) (*gate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if index <= g.reached || g.halted != nil {
		return nil, g.outcome(index)
	}
	i, found := g.find(index)
	if !found {
		g.closed = slices.Insert(g.closed, i, &gate{index: index, passed: make(chan struct{})})
	}
	g.closed[i].waiting++
	return g.closed[i], nil
}

func (g *gates) outcome(index uint64) error {
	if index <= g.reached {
		return nil
	}
	return g.halted
}

// leave gives up waiting. The last one to leave takes the gate away.
func (g *gates) leave(at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at.waiting--
	if i, found := g.find(at.index); found && g.closed[i] == at && at.waiting == 0 {
		g.closed = slices.Delete(g.closed, i, i+1)
	}
}

func (g *gates) find(index uint64) (int, bool) {
	return slices.BinarySearchFunc(g.closed, index, func(at *gate, index uint64) int {
		return cmp.Compare(at.index, index)
	})
}

// open lets those through who wait for index or one before it.
func (g *gates) open(index uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reached = index
	n := 0
	for n < len(g.closed) && g.closed[n].index <= index {
		close(g.closed[n].passed)
		n++
	}
	g.closed = slices.Delete(g.closed, 0, n)
}

// shut turns all away who wait, now and from now on.
func (g *gates) shut(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.halted = err
	for _, at := range g.closed {
		at.err = err
		close(at.passed)
	}
	g.closed = nil
}
