package sharedlog

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// change is an operation of a view, and what the view is to hold after it.
type change struct {
	name  string
	do    func(l *Log) error
	after []state // the last one; the others are what a crash in its middle may leave
}

// model knows what a view holds, and what else it may hold after a crash: what was
// refused since it last changed.
type model struct {
	id      ID
	holds   state
	refused []state
	term    uint64
}

// drawChange draws what to do to the view.
func (m *model) drawChange(t *rapid.T) change {
	first, last := m.holds.bounds()
	kind := rapid.SampledFrom([]string{"store", "store", "store", "store", "front", "front", "end", "all", "create", "drop"}).Draw(t, "kind")
	switch {
	case m.holds == nil || kind == "create" && rapid.IntRange(0, 4).Draw(t, "really") == 0:
		return m.creating()
	case kind == "drop" && rapid.IntRange(0, 4).Draw(t, "really") == 0:
		return m.dropping()
	case kind == "front" && last != 0:
		n := rapid.IntRange(1, len(m.holds)).Draw(t, "n")
		return m.deleting("delete front", first, m.holds[n-1].Index, append(state{}, m.holds[n:]...))
	case kind == "end" && last != 0:
		m.term++
		n := rapid.IntRange(max(0, len(m.holds)-4), len(m.holds)-1).Draw(t, "keep")
		return m.deleting("delete end", m.holds[n].Index, last, append(state{}, m.holds[:n]...))
	case kind == "all" && last != 0:
		return m.deleting("delete all", first, last, state{})
	}
	if last == 0 {
		last = rapid.SampledFrom([]uint64{0, 99, 1 << 33}).Draw(t, "start")
	}
	var sizes []int
	for range rapid.Uint64Range(1, 5).Draw(t, "count") {
		sizes = append(sizes, rapid.SampledFrom([]int{0, 8, 100, 100, 500, 1500, 6000}).Draw(t, "size"))
	}
	return m.storing(last, sizes)
}

func (m *model) creating() change {
	return change{"create", func(l *Log) error { return l.Create(m.id) }, []state{{}}}
}

func (m *model) dropping() change {
	return change{"drop", func(l *Log) error { return l.Drop(m.id) }, []state{nil}}
}

// storing stores entries of these sizes behind last.
func (m *model) storing(last uint64, sizes []int) change {
	var batch state
	var after []state
	for i, size := range sizes {
		batch = append(batch, entry(last+1+uint64(i), m.term, size))
		after = append(after, append(append(state{}, m.holds...), batch...))
	}
	return change{fmt.Sprintf("store %v", batch), m.onView(func(v *View) error { return v.StoreLogs(batch) }), after}
}

func (m *model) deleting(name string, from, to uint64, left state) change {
	return change{fmt.Sprintf("%s %d to %d", name, from, to), m.onView(func(v *View) error { return v.DeleteRange(from, to) }), []state{left}}
}

func (m *model) onView(do func(*View) error) func(*Log) error {
	return func(l *Log) error {
		v, err := l.View(m.id)
		if err != nil {
			return err
		}
		return do(v)
	}
}

// become notes how a change ended, and reports whether the machine is still on.
func (m *model) become(t rapid.TB, c change, err error) (on bool) {
	t.Helper()
	switch {
	case err == nil:
		m.holds, m.refused = c.after[len(c.after)-1], nil
	case errors.Is(err, errCrash) || errors.Is(err, errFault):
		m.refused = append(m.refused, c.after...)
		m.term++
	default:
		t.Fatalf("replica %s: %s: %v", m.id, c.name, err)
	}
	return !errors.Is(err, errCrash)
}

// TestCrashesAndFaultsLoseNothing: whatever fails, and at whatever step of the disk the
// process is killed or the machine goes off, each view holds all that it took and nothing else, save what was
// refused or not answered since.
func TestCrashesAndFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newFakeDisk(rapid.Uint64().Draw(t, "seed"))
		models := []*model{{id: ID{1, 1}}, {id: ID{1, 2}}, {id: ID{7, 1}}, {id: ID{8, 1}}}
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			d.crashAt = rapid.SampledFrom([]int{0, 1, 1, 1}).Draw(t, "crash") * rapid.IntRange(1, 200).Draw(t, "crash at")
			d.failAt = rapid.SampledFrom([]int{0, 1}).Draw(t, "fail") * rapid.IntRange(1, 100).Draw(t, "fail at")
			d.failFor = rapid.IntRange(1, 5).Draw(t, "fail for")
			live(t, d, models)
			if rapid.Bool().Draw(t, "killed only") {
				d = d.revive()
			} else {
				d = d.restart()
			}
		}
		live(t, d, models)
	})
}

// live opens the log, checks it, and changes it until the machine goes off or the test
// closes it.
func live(t *rapid.T, d *fakeDisk, models []*model) {
	l, err := open(d, Config{SegmentBytes: testSegment})
	if errors.Is(err, errCrash) || errors.Is(err, errFault) {
		return
	}
	if err != nil {
		t.Fatalf("a log that only crashes have harmed is refused: %v", err)
	}
	defer l.Close()
	for _, m := range models {
		if !m.wantAfterCrash(t, l) {
			return
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "rounds") {
		if !together(t, l, models) {
			return
		}
		for _, m := range models {
			got, err := readState(l, m.id)
			if errors.Is(err, errCrash) {
				return
			}
			if err != nil || !got.same(m.holds) {
				t.Fatalf("replica %s holds %v, %v; want %v", m.id, got, err, m.holds)
			}
		}
	}
}

// wantAfterCrash fails unless the view holds what it may, which it then holds for good.
// It reports false if the machine goes off meanwhile.
func (m *model) wantAfterCrash(t rapid.TB, l *Log) bool {
	t.Helper()
	got, err := readState(l, m.id)
	if errors.Is(err, errCrash) {
		return false
	}
	for _, may := range append(m.refused, m.holds) {
		if err == nil && got.same(may) {
			m.holds, m.refused = got, nil
			m.term++
			return true
		}
	}
	t.Fatalf("replica %s holds %v, %v; want %v or one of %v", m.id, got, err, m.holds, m.refused)
	return false
}

// together changes some of the views at the same time, and reports whether the machine
// is still on.
func together(t *rapid.T, l *Log, models []*model) bool {
	var wg sync.WaitGroup
	errs := make([]error, len(models))
	changes := make([]change, len(models))
	for i, m := range models {
		if rapid.IntRange(0, 2).Draw(t, "idle") > 0 {
			continue
		}
		changes[i] = m.drawChange(t)
		wg.Go(func() { errs[i] = changes[i].do(l) })
	}
	wg.Wait()
	on := true
	for i, m := range models {
		if changes[i].do != nil {
			on = m.become(t, changes[i], errs[i]) && on
		}
	}
	return on
}
