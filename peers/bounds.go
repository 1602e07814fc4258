package main

import (
	"fmt"
	"math"
)

// limit is what a figure must not exceed: by its median, or by the worst that was read.
type limit struct {
	name  string
	of    key
	worst bool
	most  float64
}

// bound is a figure that has a limit.
type bound struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Most   float64 `json:"most"`
	Passed bool    `json:"passed"`
}

func limits() []limit {
	list := []limit{
		{"p99 ms of the mixed load, median", key{rowMixed, mixedCase, ringraft, p99}, false, 10},
		{"gap ms after SIGKILL, median", key{rowKill, "SIGKILL", ringraft, gap}, false, 60},
		{"gap ms after SIGKILL, worst", key{rowKill, "SIGKILL", ringraft, gap}, true, 300},
		{"gap ms after SIGSTOP, worst", key{rowSilence, "SIGSTOP", ringraft, gap}, true, 1500},
	}
	for _, c := range cuts() {
		list = append(list, limit{fmt.Sprintf("gap ms, a node is %s, worst", c.name), key{rowSilence, c.name, ringraft, gap}, true, 1500})
	}
	for _, idle := range []struct {
		groups int
		most   float64
	}{{4, 3}, {16, 7}, {64, 18}} {
		list = append(list, limit{fmt.Sprintf("%% of a core, idle, %d groups", idle.groups), key{rowIdle, groupsCase(idle.groups), ringraft, cpu}, false, idle.most})
	}
	for _, groups := range []int{4, 16} {
		list = append(list, limit{fmt.Sprintf("elections under full load, %d groups", groups), key{rowSteady, groupsCase(groups), ringraft, elections}, true, 0})
	}
	return append(list,
		limit{"MB, idle, 16 groups", key{rowIdle, groupsCase(16), ringraft, memory}, false, 90},
		limit{"p99 of writes beside snapshots to that before", key{rowSnapshot, "256 clients", ringraft, ratioOfP99}, false, 2},
	)
}

func groupsCase(groups int) string { return fmt.Sprintf("%d groups", groups) }

// bounds returns those of which the figure was measured.
func (t *tally) bounds() []bound {
	var list []bound
	for _, l := range limits() {
		f := t.figure(l.of)
		if f == nil {
			continue
		}
		value := f.Median
		if l.worst {
			value = f.Max
		}
		list = append(list, bound{l.name, math.Round(100*value) / 100, l.most, value <= l.most})
	}
	return list
}
