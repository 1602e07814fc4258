package shard

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// gone is a report that node is gone and led the groups given with positions.
func gone(node string, sequence uint64, positions map[uint64]position) report {
	return report{node: node, sequence: sequence, gone: true, positions: positions}
}

// at is how far the logs of group 1 go.
func at(term, index uint64) map[uint64]position { return map[uint64]position{1: {term, index}} }

func votersOf1(nodes ...string) func(uint64) []string {
	return func(group uint64) []string {
		if group != 1 {
			return nil
		}
		return nodes
	}
}

// said is a report by a node, some time after the one before.
type said struct {
	after time.Duration
	by    string
	report
}

func TestWhoStandsForADeadNode(t *testing.T) {
	three, five := []string{"p", "a", "b"}, []string{"p", "a", "b", "c", "d"}
	const never = -1
	tests := map[string]struct {
		voters []string
		said   []said
		wait   time.Duration // until a stands
	}{
		"alone": {three, []said{{0, "a", gone("p", 1, at(2, 7))}}, never},
		"with the other, who is behind": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "b", gone("p", 1, at(2, 6))}}, 0},
		"the other has the longer log": {three, []said{
			{0, "b", gone("p", 1, at(2, 8))}, {0, "a", gone("p", 1, at(2, 7))}}, standStep},
		"the other has the later term": {three, []said{
			{0, "b", gone("p", 1, at(3, 6))}, {0, "a", gone("p", 1, at(2, 7))}}, standStep},
		"equals stand in order": {three, []said{
			{0, "b", gone("p", 1, at(2, 7))}, {0, "a", gone("p", 1, at(2, 7))}}, 0},
		"the other alone": {three, []said{{0, "b", gone("p", 1, at(2, 7))}}, never},
		"the other's report is too old": {three, []said{
			{0, "b", gone("p", 1, at(2, 6))}, {reportLife + 1, "a", gone("p", 1, at(2, 7))}}, never},
		"the own report is too old": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {reportLife + 1, "b", gone("p", 1, at(2, 6))}}, never},
		"just young enough": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {reportLife, "b", gone("p", 1, at(2, 6))}}, 0},
		"the other has taken it back": {three, []said{
			{0, "b", gone("p", 1, at(2, 6))}, {0, "b", report{node: "p", sequence: 2}}, {0, "a", gone("p", 1, at(2, 7))}}, never},
		"taken back, and heard of in the wrong order": {three, []said{
			{0, "b", report{node: "p", sequence: 2}}, {0, "b", gone("p", 1, at(2, 6))}, {0, "a", gone("p", 1, at(2, 7))}}, never},
		"taken back by oneself": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "a", report{node: "p", sequence: 2}}, {0, "b", gone("p", 1, at(2, 6))}}, never},
		"the other speaks of another node": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "b", gone("q", 1, at(2, 6))}}, never},
		"the other follows somebody else": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "b", gone("p", 1, map[uint64]position{2: {2, 7}})}}, never},
		"a node without a vote agrees": {three, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "x", gone("p", 1, at(2, 6))}}, never},
		"this node has no vote": {[]string{"p", "b", "c"}, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "b", gone("p", 1, at(2, 6))}, {0, "c", gone("p", 1, at(2, 6))}}, never},
		"two of five": {five, []said{
			{0, "a", gone("p", 1, at(2, 7))}, {0, "b", gone("p", 1, at(2, 6))}}, never},
		"three of five wait for the fourth": {five, []said{
			{0, "b", gone("p", 1, at(2, 6))}, {0, "c", gone("p", 1, at(2, 6))}, {0, "a", gone("p", 1, at(2, 7))}}, lateReports},
		"three of five do not wait for one that is gone too": {five, []said{
			{0, "a", gone("d", 1, nil)}, {0, "b", gone("p", 1, at(2, 6))}, {0, "c", gone("p", 1, at(2, 6))}, {0, "a", gone("p", 2, at(2, 7))}}, 0},
		"last of four": {five, []said{
			{0, "b", gone("p", 1, at(2, 8))}, {0, "c", gone("p", 1, at(2, 8))}, {0, "d", gone("p", 1, at(2, 8))}, {0, "a", gone("p", 1, at(2, 7))}}, 3 * standStep},
		"the only voter": {[]string{"p"}, []said{{0, "a", gone("p", 1, at(2, 7))}}, never},
		"one of two":     {[]string{"p", "a"}, []said{{0, "a", gone("p", 1, at(2, 7))}}, never},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, now := newDepartures("a", votersOf1(tc.voters...)), time.Now()
			var due []candidacy
			for _, s := range tc.said {
				now = now.Add(s.after)
				due = append(due, d.note(s.by, s.report, now)...)
			}
			switch {
			case tc.wait == never && len(due) > 0:
				t.Errorf("it stands: %+v", due)
			case tc.wait != never && (len(due) != 1 || due[0].group != 1):
				t.Errorf("due is %+v, want group 1", due)
			case tc.wait != never:
				if turn, called := d.turn("p", due[0]); !called || turn.Sub(now) != tc.wait {
					t.Errorf("it stands after %v, %v; want after %v", turn.Sub(now), called, tc.wait)
				}
			}
		})
	}
}

func TestACandidacyFallsWithTheMajority(t *testing.T) {
	for _, back := range []string{"a", "b"} {
		d, now := newDepartures("a", votersOf1("p", "a", "b")), time.Now()
		d.note("b", gone("p", 1, at(2, 8)), now)
		due := d.note("a", gone("p", 1, at(2, 7)), now)
		if len(due) != 1 {
			t.Fatalf("due: %+v", due)
		}
		if turn, called := d.turn("p", due[0]); !called || turn.Sub(now) != standStep {
			t.Fatalf("its turn is after %v, %v", turn.Sub(now), called)
		}
		d.note(back, report{node: "p", sequence: 2}, now.Add(standStep/2))
		if _, called := d.turn("p", due[0]); called {
			t.Errorf("it stands though %s has the node back", back)
		}
	}
}

// TestNobodyWaitsForACandidateThatIsGoneToo: it has said that the leader is gone, and dies.
func TestNobodyWaitsForACandidateThatIsGoneToo(t *testing.T) {
	d, now := newDepartures("a", votersOf1("p", "a", "b", "c", "d")), time.Now()
	d.note("b", gone("p", 1, at(2, 9)), now)
	d.note("c", gone("p", 1, at(2, 8)), now)
	due := d.note("a", gone("p", 1, at(2, 7)), now)
	if len(due) != 1 {
		t.Fatalf("due: %+v", due)
	}
	d.note("c", gone("b", 2, nil), now)
	if turn, called := d.turn("p", due[0]); !called || turn.Sub(now) != lateReports+2*standStep {
		t.Errorf("it stands after %v, %v: others may be wrong about b", turn.Sub(now), called)
	}
	d.note("a", gone("b", 2, nil), now)
	if turn, called := d.turn("p", due[0]); !called || turn.Sub(now) != lateReports+standStep {
		t.Errorf("it stands after %v, %v, want after c alone", turn.Sub(now), called)
	}
}

// TestALateReportTakesPrecedence: all must end with the same order.
func TestALateReportTakesPrecedence(t *testing.T) {
	d, now := newDepartures("a", votersOf1("p", "d", "a", "b", "c")), time.Now()
	d.note("b", gone("p", 1, at(2, 7)), now)
	d.note("c", gone("p", 1, at(2, 7)), now)
	due := d.note("a", gone("p", 1, at(2, 7)), now)
	if len(due) != 1 || due[0].wait != lateReports {
		t.Fatalf("due: %+v, want to wait for d", due)
	}
	if again := d.note("d", gone("p", 1, at(2, 7)), now); len(again) > 0 {
		t.Errorf("due again: %+v", again)
	}
	if turn, called := d.turn("p", due[0]); !called || turn.Sub(now) != lateReports+standStep {
		t.Errorf("it stands after %v, %v, want after d", turn.Sub(now), called)
	}
}

func TestADeadNodeIsReplacedOnceInAnEpisode(t *testing.T) {
	d, now := newDepartures("a", votersOf1("p", "a", "b")), time.Now()
	var stood []time.Duration
	for i := range uint64(2000) { // a link that comes and goes
		passed := time.Duration(i) * time.Millisecond
		due := d.note("a", gone("p", 2*i, at(2, 7)), now.Add(passed))
		due = append(due, d.note("b", gone("p", i, at(2, 6)), now.Add(passed))...)
		d.note("a", report{node: "p", sequence: 2*i + 1}, now.Add(passed))
		for range due {
			stood = append(stood, passed)
		}
	}
	step := episode + time.Millisecond
	if want := []time.Duration{0, step, 2 * step, 3 * step}; !slices.Equal(stood, want) {
		t.Errorf("it stood %d times, first at %v; want at %v", len(stood), stood[:min(5, len(stood))], want)
	}
}

// TestDeparturesAgree lets nodes tell each other what they see, in any order and late,
// and compares what each does with the rule as it is written down.
func TestDeparturesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []string{"a", "b", "c", "d", "e", "p", "q"}
		voters := map[uint64][]string{}
		for group := range uint64(3) {
			voters[group] = rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 7, rapid.ID).Draw(t, "voters")
		}
		d := newDepartures("a", func(group uint64) []string { return voters[group] })
		now := time.Now()
		type key struct{ about, by string }
		type kept struct {
			report
			at time.Time
		}
		latest := map[key]kept{}
		stood := map[string]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "ms")) * time.Millisecond)
			r := report{
				node: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "about"), sequence: uint64(rapid.IntRange(1, 20).Draw(t, "sequence")),
				gone: rapid.IntRange(0, 4).Draw(t, "gone") > 0,
			}
			if r.gone {
				r.positions = map[uint64]position{}
				for _, group := range rapid.SliceOfDistinct(rapid.Uint64Range(0, 3), rapid.ID).Draw(t, "groups") {
					r.positions[group] = position{rapid.Uint64Range(1, 2).Draw(t, "term"), rapid.Uint64Range(1, 3).Draw(t, "index")}
				}
			}
			by := rapid.SampledFrom(all[:5]).Draw(t, "by")
			k := key{r.node, by}
			due := d.note(by, r, now)
			if last, known := latest[k]; known && last.sequence >= r.sequence {
				// It counts only if the one before has been forgotten, which it is not while
				// it could count.
				if now.Sub(last.at) <= reportLife && len(due) > 0 {
					t.Fatalf("an old report made %+v due", due)
				}
				if now.Sub(last.at) <= reportLife || by == "a" && last.gone {
					continue
				}
				if taken := d.nodes[r.node].reports[by]; !taken.at.Equal(now) {
					continue
				}
			}
			latest[k] = kept{r, now}
			counts := func(by string, group uint64) (position, bool) {
				last := latest[key{r.node, by}]
				p, led := last.positions[group]
				return p, led && last.gone && now.Sub(last.at) <= reportLife
			}
			for _, group := range slices.Sorted(maps.Keys(voters)) {
				agree, before := 0, 0
				mine, have := counts("a", group)
				ahead := true
				for _, voter := range voters[group] {
					if voter == "a" {
						ahead = false
					}
					if p, yes := counts(voter, group); yes {
						agree++
						if c := p.compare(mine); voter != "a" && (c > 0 || c == 0 && ahead) {
							before++
						}
					}
				}
				id := r.node + string(rune('0'+group))
				last, acted := stood[id]
				want := have && slices.Contains(voters[group], "a") && 2*agree > len(voters[group]) && (!acted || now.Sub(last) > episode)
				i := slices.IndexFunc(due, func(c candidacy) bool { return c.group == group })
				if want != (i >= 0) {
					t.Fatalf("group %d for %s: due %v, want %v", group, r.node, i >= 0, want)
				}
				if !want {
					continue
				}
				stood[id] = now
				turn, called := d.turn(r.node, due[i])
				if wait := turn.Sub(now).Truncate(standStep); !called || wait != time.Duration(before)*standStep {
					t.Fatalf("group %d: it waits %v, %v; and %d stand before it", group, wait, called, before)
				}
			}
		}
	})
}
