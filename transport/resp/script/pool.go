package script

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// maxRunning bounds the scripts of a pool that run at a time, many of them waiting for
	// what they read; maxIdle the machines that are kept for the next ones.
	maxRunning = 1024
	maxIdle    = 32
	// maxTogether bounds the memory of all that run, in bytes.
	maxTogether = 1 << 30
)

// Host carries out the commands of a script.
type Host interface {
	// Call returns the answer to a command, in the version 2 or 3 of the protocol. A
	// Failure is an answer too; an error ends the run.
	Call(args [][]byte, proto int) (Value, error)
}

// Invocation is what a run gets.
type Invocation struct{ Keys, Args [][]byte }

// Pool is machines that run scripts, one each at a time. They take turns, so that scripts
// leave half of the processors to whatever else the node does.
type Pool struct {
	running places
	turns   places
	shared  atomic.Int64 // memory that those that run may still take, in bytes
	steps   int64        // of a run, at most
	memory  int64        // of a run, at most, in bytes

	mu   sync.Mutex
	idle []*sandbox // the one used last is the last
}

// NewPool returns a pool without any machines yet.
func NewPool() *Pool {
	p := &Pool{
		running: make(places, maxRunning), turns: make(places, max(runtime.GOMAXPROCS(0)/2, 1)),
		steps: maxSteps, memory: maxMemory,
	}
	p.shared.Store(maxTogether)
	return p
}

// Compile returns the script of a text, once it is its turn. Its error is for whoever
// wrote the text, or that of ctx.
func (p *Pool) Compile(ctx context.Context, text string) (*Script, error) {
	if err := p.turns.take(ctx); err != nil {
		return nil, err
	}
	defer p.turns.give()
	return Compile(text)
}

// Run carries a script out, and returns what it answers: a Failure if it raised an error,
// after which what it has called stays done. An error says why the run was ended, or not
// begun: then nothing of it is to happen.
func (p *Pool) Run(ctx context.Context, script *Script, in Invocation, host Host) (Value, error) {
	if err := p.running.take(ctx); err != nil {
		return nil, err
	}
	defer p.running.give()
	box := p.machine()
	answer, raised := box.run(budget{Context: ctx, turns: p.turns, steps: p.steps, memory: p.memory, shared: &p.shared}, script, in, host)
	over := box.budget.over
	if raised == nil && over == nil {
		p.keep(box)
	}
	switch {
	case over != nil:
		return nil, over
	case raised != nil:
		return failureOf(raised, script.SHA), nil
	}
	return answer, nil
}

// machine returns an idle machine, or a new one.
func (p *Pool) machine() *sandbox {
	if box := p.last(); box != nil {
		return box
	}
	return newSandbox()
}

// last returns the idle machine that was used last, nil if there is none.
func (p *Pool) last() *sandbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle) - 1
	if n < 0 {
		return nil
	}
	box := p.idle[n]
	p.idle[n], p.idle = nil, p.idle[:n]
	return box
}

// keep keeps a machine for the next script, unless there are enough.
func (p *Pool) keep(box *sandbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) < maxIdle {
		p.idle = append(p.idle, box)
	}
}
