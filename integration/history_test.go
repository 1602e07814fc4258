package integration

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// checkTimeout bounds the search for an order of one object's operations. A search
// that takes longer has no verdict, and that fails the test.
const checkTimeout = time.Minute

// outcome is what a caller knows of an operation.
type outcome uint8

const (
	done    outcome = iota // it happened once, between call and return
	refused                // it did not happen, and never will
	unknown                // it happens once, at any time after the call, or never
)

// answer is what came back for an operation; nil stands for an unknown outcome.
type answer = *told

type told struct {
	op.Result
	// brief says that a write's Version, if it is 0, and Found were not told.
	brief bool
}

// history is what callers asked of one object and were told, in the order in which
// they did. What was refused is not in it: if it has an effect, no order explains that.
type history struct {
	name string

	mu     sync.Mutex
	events int64 // calls and returns so far: the clock of the history
	past   []porcupine.Operation
}

// do has a carry out o, and notes when it was called and what came back.
func (h *history) do(a caller, who int, o op.Op) (op.Result, outcome) {
	called := h.tick()
	res, out := a.do(o, client.Linearizable)
	switch {
	case out == done:
		h.add(porcupine.Operation{ClientId: who, Input: o, Output: &told{res, a.brief()}, Call: called, Return: h.tick()})
	case out == unknown:
		h.add(porcupine.Operation{ClientId: who, Input: o, Output: answer(nil), Call: called, Return: math.MaxInt64})
	}
	return res, out
}

// recorded is a caller whose operations are noted in a history.
type recorded struct {
	caller
	history *history
}

func (r recorded) do(o op.Op, _ client.Level) (op.Result, outcome) {
	return r.history.do(r.caller, 0, o)
}

// lastSeen is the newest record of a key that anybody has been told of: what a writer
// compares with. The zero one is none.
type lastSeen struct {
	mu      sync.Mutex
	version uint64
	value   []byte
}

// note takes over what an answer tells, if it comes with its value.
func (l *lastSeen) note(res op.Result, out outcome) {
	if out != done || !res.Found || len(res.Value) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if res.Version > l.version {
		l.version, l.value = res.Version, res.Value
	}
}

func (l *lastSeen) get() (version uint64, value []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version, l.value
}

func (h *history) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events++
	return h.events
}

func (h *history) add(o porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past = append(h.past, o)
}

var (
	errNoOrder   = errors.New("no order of the operations explains the answers")
	errNoVerdict = errors.New("the search for an order takes too long")
)

// check returns an error unless some order of the operations, each between its call
// and its return, gives the answers that came back. Beside the error is a picture.
func (h *history) check(model porcupine.Model) error {
	err := h.search(model, checkTimeout)
	if errors.Is(err, errNoOrder) {
		err = fmt.Errorf("%w; %s", err, h.picture(model))
	}
	return err
}

// search is check without a picture.
func (h *history) search(model porcupine.Model, patience time.Duration) error {
	switch porcupine.CheckOperationsTimeout(model, h.past, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return fmt.Errorf("%s, %d operations: %w", h.name, len(h.past), errNoOrder)
	}
	return fmt.Errorf("%s, %d operations, %v: %w", h.name, len(h.past), patience, errNoVerdict)
}

// pictures is a directory that is kept when the tests end.
var pictures = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "ringraft-histories-") })

// picture writes the history as a page for a browser and says where it is.
func (h *history) picture(model porcupine.Model) string {
	dir, err := pictures()
	if err != nil {
		return err.Error()
	}
	page, err := os.CreateTemp(dir, h.name+"-*.html")
	if err != nil {
		return err.Error()
	}
	defer page.Close()
	_, found := porcupine.CheckOperationsVerbose(model, h.past, checkTimeout)
	if err := porcupine.Visualize(model, found, page); err != nil {
		return err.Error()
	}
	return "see " + page.Name()
}
