package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tally counts what a run did to a cluster.
type tally struct {
	mu         sync.Mutex
	operations map[outcome]int
	faults     map[string]int
}

func newTally() *tally { return &tally{operations: map[outcome]int{}, faults: map[string]int{}} }

func (t *tally) operation(out outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.operations[out]++
}

func (t *tally) fault(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[kind]++
}

// add counts what another one has counted.
func (t *tally) add(other *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for out, n := range other.operations {
		t.operations[out] += n
	}
	for kind, n := range other.faults {
		t.faults[kind] += n
	}
}

// done returns how many operations have been done.
func (t *tally) done() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.operations[done]
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, injected := 0, 0
	for _, n := range t.operations {
		all += n
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(t.faults)) {
		injected += t.faults[kind]
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, t.faults[kind]))
	}
	return fmt.Sprintf("%d operations (%d done, %d refused, %d unknown), %d faults (%s)",
		all, t.operations[done], t.operations[refused], t.operations[unknown], injected, strings.Join(kinds, ", "))
}
