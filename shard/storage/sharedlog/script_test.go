package sharedlog

import (
	"errors"
	"fmt"
	"testing"
)

// act is a step of a script: it changes a view by what it holds. It does nothing if that is not
// what the step was made for, as after a fault.
type act func(m *model) change

func create(m *model) change {
	if m.holds != nil {
		return change{}
	}
	return m.creating()
}

func drop(m *model) change {
	if m.holds == nil {
		return change{}
	}
	return m.dropping()
}

// stores stores entries of these sizes.
func stores(sizes ...int) act {
	return func(m *model) change {
		if m.holds == nil {
			return change{}
		}
		_, last := m.holds.bounds()
		return m.storing(last, sizes)
	}
}

// keeps deletes all but the last n entries.
func keeps(n int) act {
	return func(m *model) change {
		if len(m.holds) <= n {
			return change{}
		}
		first, gone := m.holds[0].Index, len(m.holds)-n
		return m.deleting("delete front", first, m.holds[gone-1].Index, append(state{}, m.holds[gone:]...))
	}
}

// cuts deletes the last n entries, which others take the place of.
func cuts(n int) act {
	return func(m *model) change {
		if len(m.holds) < n {
			return change{}
		}
		m.term++
		_, last := m.holds.bounds()
		left := len(m.holds) - n
		return m.deleting("delete end", m.holds[left].Index, last, append(state{}, m.holds[:left]...))
	}
}

// step is an act on one of the models.
type step struct {
	model int
	act   act
}

// script is two lives of a log of three views. It fills segments, uses them again, compacts
// what the third view has in old ones, cuts ends off, and drops a view.
func script() [2][]step {
	first := []step{{0, create}, {1, create}, {2, create}, {2, stores(100, 300, 8)}}
	for range 12 {
		first = append(first, step{0, stores(500, 500)}, step{1, stores(100)}, step{0, keeps(3)})
	}
	first = append(first, step{0, cuts(2)}, step{0, stores(500, 500)}, step{1, cuts(4)}, step{1, stores(100, 100, 0)})
	second := []step{{1, drop}, {2, stores(6000)}}
	for range 12 {
		second = append(second, step{0, stores(500, 500)}, step{0, keeps(3)})
	}
	return [2][]step{first, append(second, step{1, create}, step{1, stores(8, 8)}, step{2, keeps(1)}, step{2, cuts(1)}, step{2, stores(100)})}
}

// mostFails is how many steps of the disk may fail in succession.
const mostFails = 4

// play lives the script until the machine goes off.
func play(t *testing.T, d *fakeDisk, models []*model) (on bool) {
	t.Helper()
	for _, steps := range script() {
		if !perform(t, d, models, steps) {
			return false
		}
	}
	return true
}

// perform opens the log, which is to hold what it may, and takes steps until the machine goes off.
func perform(t *testing.T, d *fakeDisk, models []*model, steps []step) (on bool) {
	t.Helper()
	l, err := open(d, Config{SegmentBytes: testSegment})
	for try := 0; try < mostFails && errors.Is(err, errFault); try++ {
		l, err = open(d, Config{SegmentBytes: testSegment})
	}
	if errors.Is(err, errCrash) {
		return false
	}
	if err != nil {
		t.Fatalf("a log that only faults have harmed is refused: %v", err)
	}
	defer l.Close()
	for _, m := range models {
		if !m.wantAfterCrash(t, l) {
			return false
		}
	}
	for _, s := range steps {
		m := models[s.model]
		c := s.act(m)
		if c.do == nil {
			continue
		}
		if !m.become(t, c, c.do(l)) {
			return false
		}
	}
	return true
}

// TestScriptSurvivesEveryFault: at each step of the disk in turn the process is killed, the
// machine goes off, or the step fails. Each view then holds all that it took and nothing else, save
// what was refused or not answered since, and the log goes on.
func TestScriptSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	const tears = 6 // of what was not synced, for each step
	whole := newFakeDisk(0)
	if !play(t, whole, scriptModels()) {
		t.Fatal("the script does not come to its end")
	}
	t.Logf("%d steps of the disk", whole.steps)
	for name, fault := range map[string]struct {
		tries int
		set   func(d *fakeDisk, at int)
		after func(d *fakeDisk) *fakeDisk
	}{
		"killed":     {1, func(d *fakeDisk, at int) { d.crashAt = at }, (*fakeDisk).revive},
		"off":        {tears, func(d *fakeDisk, at int) { d.crashAt = at }, (*fakeDisk).restart},
		"fails":      {1, func(d *fakeDisk, at int) { d.failAt, d.failFor = at, 1 }, (*fakeDisk).restart},
		"fails more": {1, func(d *fakeDisk, at int) { d.failAt, d.failFor = at, mostFails }, (*fakeDisk).restart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; at <= whole.steps; at++ {
				for seed := range fault.tries {
					t.Run(fmt.Sprintf("at step %d, seed %d", at, seed), func(t *testing.T) {
						d, models := newFakeDisk(uint64(seed)), scriptModels()
						fault.set(d, at)
						play(t, d, models)
						d = fault.after(d)
						perform(t, d, models, nil)
						if !play(t, d.restart(), models) {
							t.Error("the log does not go on")
						}
					})
				}
			}
		})
	}
}

func scriptModels() []*model { return []*model{{id: ID{1, 1}}, {id: ID{2, 1}}, {id: ID{3, 1}}} }
