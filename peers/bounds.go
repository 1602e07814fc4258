package main

import (
	"fmt"
	"math"
	"strings"
)

// limit is what a figure must not exceed: by its median, or by the worst that was read.
type limit struct {
	name  string
	of    key
	worst bool
	most  float64
	held  []least // what else was to be held: the figure is of no worth without it
	takes []least // how much has to be measured
}

// least is what another figure of the same case must reach in every run; times stands for
// how often the figure itself was read.
type least struct {
	unit  string
	value float64
}

const times = "times"

// bound is a figure that has a limit.
type bound struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Most    float64 `json:"most"`
	Verdict string  `json:"verdict"`
	Why     string  `json:"why,omitempty"` // not reached, although the value is not over the limit
}

// The verdicts.
const (
	reached  = "reached"
	missed   = "missed"
	unproven = "unproven" // not missed, but measured too little
)

// fullState is how many records a state has of which figures count.
const fullState = 5_000_000

// heldRate is what an open loop has to hold.
func heldRate() []least { return []least{{ofRate, 99}, {answered, 99.9}} }

func limits() []limit {
	of := func(row, name, unit string) key { return key{row, name, ringraft, unit} }
	kills, full := []least{{times, 30}}, []least{{entries, fullState}}
	list := []limit{
		{name: "p99 ms of the mixed load, median", of: of(rowMixed, mixedCase(mixedRate), p99), most: 10, held: heldRate()},
		{name: "gap ms after SIGKILL, median", of: of(rowKill, "SIGKILL", gap), most: 60, takes: kills},
		{name: "gap ms after SIGKILL, worst", of: of(rowKill, "SIGKILL", gap), worst: true, most: 300, takes: kills},
		{name: "gap ms after SIGSTOP, worst", of: of(rowSilence, "SIGSTOP", gap), worst: true, most: 1500},
	}
	for _, c := range cuts() {
		list = append(list, limit{name: fmt.Sprintf("gap ms, a node is %s, worst", c.name), of: of(rowSilence, c.name, gap), worst: true, most: 1500})
	}
	for _, idle := range []struct {
		groups int
		most   float64
	}{{4, 3}, {16, 7}, {64, 18}} {
		list = append(list, limit{name: fmt.Sprintf("%% of a core, idle, %d groups", idle.groups), of: of(rowIdle, groupsCase(idle.groups), cpu), most: idle.most})
	}
	for _, groups := range []int{4, 16} {
		list = append(list, limit{
			name: fmt.Sprintf("elections under full load, %d groups", groups), of: of(rowSteady, groupsCase(groups), elections),
			worst: true, takes: []least{{seconds, 600}},
		})
	}
	return append(list,
		limit{name: "MB, idle, 16 groups", of: of(rowIdle, groupsCase(16), memory), most: 90},
		limit{name: "p99 of writes beside snapshots to that before", of: of(rowSnapshot, closedCase, ratioOfP99), most: 2, takes: full},
		limit{name: "the same at half the rate", of: of(rowSnapshot, openCase, ratioOfP99), most: 2, held: heldRate(), takes: full},
		limit{name: "bytes over key and value", of: of(rowMemory, memoryCase, bytesOver), most: 56, takes: full},
		limit{name: "ms of CPU of a full collection", of: of(rowMemory, memoryCase, collectionCPU), most: 10, takes: full},
	)
}

func groupsCase(groups int) string { return fmt.Sprintf("%d groups", groups) }

// bounds returns those of which the figure was measured.
func (t *tally) bounds() []bound {
	var list []bound
	for _, l := range limits() {
		if f := t.figure(l.of); f != nil {
			list = append(list, t.bound(l, f))
		}
	}
	return list
}

func (t *tally) bound(l limit, f *figure) bound {
	value := f.Median
	if l.worst {
		value = f.Max
	}
	b := bound{Name: l.name, Value: math.Round(100*value) / 100, Most: l.most, Verdict: reached}
	if value > l.most {
		b.Verdict = missed
	} else if why := t.lacks(f, l.held); why != "" {
		b.Verdict, b.Why = missed, why
	} else if why := t.lacks(f, l.takes); why != "" {
		b.Verdict, b.Why = unproven, why
	}
	return b
}

// lacks says what is less than it must be, "" if nothing is.
func (t *tally) lacks(f *figure, all []least) string {
	var lacking []string
	for _, l := range all {
		has := 0.0
		if l.unit == times {
			has = float64(len(f.Values))
		} else if other := t.figure(key{f.Row, f.Case, f.System, l.unit}); other != nil {
			has = other.Min
		}
		if has < l.value {
			lacking = append(lacking, fmt.Sprintf("%s %s, of %s", commas(has), l.unit, commas(l.value)))
		}
	}
	return strings.Join(lacking, "; ")
}
