package script

import (
	"context"
	"errors"
	"sync/atomic"
)

const (
	// maxSteps bounds a run: the instructions of the machine, and what its library does
	// in their place.
	maxSteps = 10_000_000
	// maxMemory bounds the bytes that a run asks for, all together: what it drops is
	// not given back. Numbers on the way cost nothing, at most 8 B for each step.
	maxMemory = 64 << 20
	// patience is after how many steps the run looks whether it is still wanted.
	patience = 256
	// slice is after how many steps the run lets others run, about half a millisecond.
	slice = 64 * patience
)

// Why a run was ended. Nothing of it is to happen.
var (
	ErrSteps  = errors.New("the script takes too many steps")
	ErrMemory = errors.New("the script needs too much memory")
	ErrBusy   = errors.New("other scripts use the memory for scripts")
)

// chunk is how much memory a run gets of what all runs share at a time, in bytes.
const chunk = 256 << 10

// budget is what a run may still take. It is the context of the machine, which asks it
// before every instruction whether it is done.
type budget struct {
	context.Context
	turns  places
	ours   bool // the turn
	steps  int64
	memory int64         // bytes
	shared *atomic.Int64 // what all runs together may still take, in bytes
	chunks int64         // taken of it
	spare  int64         // bytes of them that are left
	over   error         // why the run ends
	ended  chan struct{} // nil until then, closed after
}

// Done counts an instruction.
func (b *budget) Done() <-chan struct{} {
	b.steps--
	if b.steps < 0 || b.steps%patience == 0 {
		b.look(b.steps%slice == 0)
	}
	return b.ended
}

// Err says why the run ends.
func (b *budget) Err() error { return b.over }

// look ends a run that has no steps left or is not wanted any more, and lets others run
// first if its slice is over.
func (b *budget) look(sliceOver bool) {
	if sliceOver && b.over == nil {
		b.pause()
		b.resume()
	}
	switch {
	case b.Context.Err() != nil:
		b.end(b.Context.Err())
	case b.steps < 0:
		b.end(ErrSteps)
	}
}

// pause gives the turn back, resume waits for the next one.
func (b *budget) pause() {
	if b.ours {
		b.turns.give()
		b.ours = false
	}
}

func (b *budget) resume() {
	if err := b.turns.take(b.Context); err != nil {
		b.end(err)
	} else {
		b.ours = true
	}
}

// end lets no instruction follow, so that no script goes on by catching the error.
func (b *budget) end(why error) {
	if b.over != nil {
		return
	}
	b.over = why
	b.ended = make(chan struct{})
	close(b.ended)
}

// spend counts steps that are no instructions, and reports whether the run may go on.
func (b *budget) spend(steps int) bool {
	before := b.steps
	b.steps -= int64(steps)
	if b.steps < 0 || b.steps/patience != before/patience {
		b.look(b.steps/slice != before/slice)
	}
	return b.over == nil
}

// take asks for memory, in bytes, and reports whether there is any left for it.
func (b *budget) take(bytes int) bool {
	n := int64(bytes)
	if n < 0 || n > b.memory {
		b.end(ErrMemory)
		return false
	}
	b.memory -= n
	if b.spare -= n; b.spare < 0 {
		b.draw((chunk - 1 - b.spare) / chunk)
	}
	return b.over == nil
}

// lend gives memory back that is surely free again.
func (b *budget) lend(bytes int) {
	b.memory += int64(bytes)
	b.spare += int64(bytes)
}

// draw takes chunks of what all runs share.
func (b *budget) draw(chunks int64) {
	if b.shared.Add(-chunks*chunk) < 0 {
		b.shared.Add(chunks * chunk)
		b.end(ErrBusy)
		return
	}
	b.chunks += chunks
	b.spare += chunks * chunk
}

// settle gives back what the run has taken of what all share.
func (b *budget) settle() {
	b.shared.Add(b.chunks * chunk)
	b.chunks, b.spare = 0, 0
}
