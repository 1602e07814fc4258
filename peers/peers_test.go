package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestFlagsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	for args, message := range map[string]string{
		"-systems mysql":    `-systems has "mysql"`,
		"-rows writes,fast": `-rows has "fast"`,
		"-runs 0":           "-runs is 0; it must lie between 1 and 100",
		"-kills 101":        "-kills is 101",
		"-time 10ms":        "-time is 10ms",
		"-steady 10ms":      "-steady is 10ms",
		"-entries 10":       "-entries is 10",
		"writes":            `got "writes"`,
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: err = %v, want %q in it", args, err, message)
		}
	}
	o, err := parse(strings.Fields("-systems etcd,redis -rows reads -runs 5"))
	if err != nil || !slices.Equal(o.systems, []string{etcd, redis}) || !slices.Equal(o.rows, []string{rowReads}) || o.runs != 5 {
		t.Errorf("options %+v, %v", o, err)
	}
}

// Every ratio is of figures that some scenario gives, and every row has one.
func TestTargetsAreMeasured(t *testing.T) {
	t.Parallel()
	measured := map[key]bool{}
	rows := map[string]bool{}
	for _, s := range scenarios() {
		rows[s.row] = true
		if !slices.Contains(systemNames(), s.system) || color(s.system) == "" {
			t.Errorf("the system %q is not known", s.system)
		}
		for _, m := range s.cases {
			for _, unit := range m.units {
				k := key{s.row, m.name, s.system, unit}
				if measured[k] {
					t.Errorf("%v is measured twice", k)
				}
				measured[k] = true
			}
		}
	}
	for _, goal := range targets() {
		if !measured[goal.of] || !measured[goal.by] {
			t.Errorf("%+v is not measured", goal)
		}
	}
	for _, l := range limits() {
		if !measured[l.of] {
			t.Errorf("%q is not measured", l.name)
		}
		for _, other := range slices.Concat(l.held, l.takes) {
			if k := (key{l.of.row, l.of.name, l.of.system, other.unit}); !measured[k] && other.unit != times {
				t.Errorf("%q: %q is not measured", l.name, other.unit)
			}
		}
	}
	for _, row := range rowNames() {
		if !rows[row] {
			t.Errorf("nothing belongs to the row %s", row)
		}
	}
}

// measured is a tally of two systems over three runs.
func measured() *tally {
	t := newTally(options{runs: 3, duration: time.Second})
	for _, f := range []struct {
		system string
		values []float64
	}{{ringraft, []float64{30_000, 90_000, 60_000}}, {etcd, []float64{9_000, 11_000, 10_000}}} {
		for _, v := range f.values {
			t.add(scenario{row: rowWrites, system: f.system, setup: "1 group"}, "64 clients", reading{unit: opsPerS, value: v})
		}
	}
	return t
}

func TestTallyTakesMedians(t *testing.T) {
	t.Parallel()
	tl := measured()
	f := tl.figure(key{rowWrites, "64 clients", ringraft, opsPerS})
	if f.Median != 60_000 || f.Min != 30_000 || f.Max != 90_000 || len(f.Values) != 3 {
		t.Errorf("figure %+v", f)
	}
	want := []ratio{{Name: "writes, 1 group, 64 clients, to etcd", Ratio: 6, Reach: 6, Verdict: reached}}
	if !slices.Equal(tl.Ratios, want) {
		t.Errorf("ratios %+v, want %+v", tl.Ratios, want)
	}
	if m := median([]float64{1, 2, 4, 9}); m != 3 {
		t.Errorf("the median of four is %v, want 3", m)
	}
	tl.add(scenario{row: rowWrites, system: etcd}, "64 clients", reading{unit: opsPerS, value: 50_000})
	if tl.Ratios[0].Verdict != missed {
		t.Errorf("ratio %+v after a faster run, want a lower one", tl.Ratios[0])
	}
	var b strings.Builder
	if err := tl.print(&b); err != nil || !strings.Contains(b.String(), "missed") || !strings.Contains(b.String(), "60000") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

func TestFiguresHaveBounds(t *testing.T) {
	t.Parallel()
	tl := newTally(options{runs: 3, duration: time.Second})
	for _, v := range []float64{40, 70, 290} {
		tl.add(scenario{row: rowKill, system: ringraft}, "SIGKILL", reading{unit: gap, value: v})
	}
	want := []bound{
		{Name: "gap ms after SIGKILL, median", Value: 70, Most: 60, Verdict: missed},
		{Name: "gap ms after SIGKILL, worst", Value: 290, Most: 300, Verdict: unproven, Why: "3 times, of 30"},
	}
	if !slices.Equal(tl.Bounds, want) {
		t.Errorf("bounds %+v, want %+v", tl.Bounds, want)
	}
	tl.skip("no namespaces")
	tl.skip("no namespaces")
	var b strings.Builder
	if err := tl.print(&b); err != nil || strings.Count(b.String(), "no namespaces") != 1 || !strings.Contains(b.String(), "missed") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// A figure within its limit tells nothing where what it rests on was not held, and is no
// proof where too little was measured.
func TestVerdictsWantWhatAFigureRestsOn(t *testing.T) {
	t.Parallel()
	verdict := func(row, name, unit string, others map[string]float64, values ...float64) string {
		tl := newTally(options{runs: 1})
		for other, v := range others {
			tl.add(scenario{row: row, system: ringraft}, name, reading{unit: other, value: v})
		}
		for _, v := range values {
			tl.add(scenario{row: row, system: ringraft}, name, reading{unit: unit, value: v})
		}
		return tl.Bounds[len(tl.Bounds)-1].Verdict
	}
	full := mixedCase(mixedRate)
	for name, c := range map[string]struct{ got, want string }{
		"rate held":        {verdict(rowMixed, full, p99, map[string]float64{ofRate: 99, answered: 99.9}, 5), reached},
		"rate not held":    {verdict(rowMixed, full, p99, map[string]float64{ofRate: 98.9, answered: 100}, 5), missed},
		"requests lost":    {verdict(rowMixed, full, p99, map[string]float64{ofRate: 100, answered: 99.8}, 5), missed},
		"rate not known":   {verdict(rowMixed, full, p99, nil, 5), missed},
		"ten minutes":      {verdict(rowSteady, groupsCase(4), elections, map[string]float64{seconds: 600}, 0), reached},
		"ten seconds":      {verdict(rowSteady, groupsCase(4), elections, map[string]float64{seconds: 10}, 0), unproven},
		"an election":      {verdict(rowSteady, groupsCase(4), elections, map[string]float64{seconds: 10}, 1), missed},
		"five million":     {verdict(rowMemory, memoryCase, bytesOver, map[string]float64{entries: 5e6}, 50), reached},
		"half a million":   {verdict(rowMemory, memoryCase, bytesOver, map[string]float64{entries: 5e5}, 50), unproven},
		"beside snapshots": {verdict(rowSnapshot, closedCase, ratioOfP99, map[string]float64{entries: 5e5}, 1.5), unproven},
		"thirty kills":     {verdict(rowKill, "SIGKILL", gap, nil, slices.Repeat([]float64{20}, 30)...), reached},
		"29 kills":         {verdict(rowKill, "SIGKILL", gap, nil, slices.Repeat([]float64{20}, 29)...), unproven},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", name, c.got, c.want)
		}
	}
}

func TestRatiosOfFewRunsProveNothing(t *testing.T) {
	t.Parallel()
	tl := newTally(options{runs: 2})
	for range leastRuns - 1 {
		tl.add(scenario{row: rowWrites, system: ringraft}, "64 clients", reading{unit: opsPerS, value: 70_000})
		tl.add(scenario{row: rowWrites, system: etcd}, "64 clients", reading{unit: opsPerS, value: 10_000})
	}
	if tl.Ratios[0].Verdict != unproven {
		t.Errorf("ratio %+v of two runs", tl.Ratios[0])
	}
}

func TestMeasuresReadWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		units []string
		fails bool
	}{"as said": {[]string{gap}, false}, "another unit": {[]string{p99}, true}, "less": {[]string{gap, p99}, true}} {
		m := measure{"case", c.units, func(context.Context, *cluster) ([]reading, error) {
			return []reading{{unit: gap}, {unit: gap}}, nil
		}}
		if _, err := m.read(t.Context(), nil); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProcessorsAreReadFromProc(t *testing.T) {
	t.Parallel()
	const stat = "cpu  10 0 20 50 10 0 0 10 5 0\ncpu0 1 2 3\n"
	if p, err := parseProcessors(stat); err != nil || p != (processors{all: 100, idle: 60, stolen: 10}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu0" + stat[3:], strings.Replace(stat, "20", "x", 1)} {
		if _, err := parseProcessors(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// What came before the measurement does not count: the keys are put then.
func TestWatchLooksAtTheMeasurementOnly(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(second int, all, idle, stolen int64) look {
		return look{start.Add(time.Duration(second) * time.Second), processors{all, idle, stolen}}
	}
	w := watch{[]look{at(0, 0, 0, 0), at(10, 2000, 0, 2000), at(11, 2200, 100, 2020), at(12, 2400, 100, 2020)}}
	if b := w.last(2 * time.Second); b == nil || *b != (busy{25, 5}) {
		t.Errorf("%+v, want 25 %% idle and 5 %% stolen", b)
	}
	if b := new(watch).last(time.Second); b != nil {
		t.Errorf("%+v of nothing", b)
	}
	tl := newTally(options{runs: 1})
	tl.add(scenario{row: rowIdle}, "4 groups", reading{cpu, 1, &busy{25.04, 5}})
	b, err := json.Marshal(tl.Figures[0])
	if err != nil || !strings.Contains(string(b), `"idle":[25],"steal":[5]`) {
		t.Errorf("%s, %v", b, err)
	}
	var printed strings.Builder
	if err := tl.print(&printed); err != nil || !strings.Contains(printed.String(), "25      5") {
		t.Errorf("%v: %s", err, printed.String())
	}
}

func TestIdlenessIsMeasuredForHalfAMinute(t *testing.T) {
	t.Parallel()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{lab: &lab{options: options{duration: time.Second}}, nodes: []*process{{name: "self", cmd: &exec.Cmd{Process: self}}}}
		start := time.Now()
		if _, err := c.usage(); err != nil {
			t.Skip(err)
		}
		if _, err := idle(t.Context(), c); err != nil || time.Since(start) < idleSettle+30*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestSnapshotsAreOrderedUntilAllAreFinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			least, finished, want time.Duration
			err                   string
		}{
			"slow": {time.Second, 70 * time.Second, 70 * time.Second, ""}, "quick": {4 * time.Second, time.Second, 4 * time.Second, ""},
			"never": {time.Second, time.Hour, snapshotsBound, "no snapshot was finished within 3m0s by n1 of 2.1"},
		} {
			start := time.Now()
			orders := 0
			err := orderSnapshots(t.Context(), c.least, func() error { orders++; return nil }, func() []string {
				if time.Since(start) < c.finished {
					return []string{"n1 of 2.1"}
				}
				return nil
			})
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err || time.Since(start) != c.want || orders != int(c.want/snapshotEvery) {
				t.Errorf("%s: %v after %v and %d orders", name, err, time.Since(start), orders)
			}
		}
		refused := errors.New("it has ended")
		if err := orderSnapshots(t.Context(), 0, func() error { return refused }, nil); !errors.Is(err, refused) {
			t.Errorf("err = %v, want %v", err, refused)
		}
	})
}

func TestSnapshotsCountThatBeganAndEndedMeanwhile(t *testing.T) {
	t.Parallel()
	c := &cluster{nodes: []*process{{name: "n1", dir: t.TempDir()}}}
	put := func(path string) {
		if err := os.MkdirAll(filepath.Join(c.nodes[0].dir, "data", "groups", path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put("0.1/snapshots/old")
	put("1.1/snapshots/old")
	put("2.1/snapshots/begun.tmp")
	before := c.snapshots()
	put("2.1/snapshots/begun") // as if it had got its name now
	for _, step := range []struct {
		put  string
		want []string
	}{
		{"1.1/snapshots/new.tmp", []string{"n1 of 1.1", "n1 of 2.1"}},
		{"1.1/snapshots/new", []string{"n1 of 2.1"}},
		{"2.1/snapshots/new", nil},
	} {
		put(step.put)
		if got := c.withoutSnapshot(before); !slices.Equal(got, step.want) {
			t.Errorf("after %s: %q, want %q", step.put, got, step.want)
		}
	}
}

func TestLoadTellsWhatItMeasuredUntilItsEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t, loadTool, command{program: "sh"})
	defer l.close()
	ready := filepath.Join(l.root, "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `trap 'kill $!; echo "{\"ok\": 3, \"seconds\": 1}"; exit 1' INT; sleep 1000 >/dev/null 2>&1 & echo >"$0"; wait`
	c := &cluster{lab: l, loader: loadTool, loadArgs: []string{"-c", script, ready}}
	end := make(chan struct{})
	go func() {
		_, _ = os.ReadFile(ready) // returns once the trap is set
		close(end)
	}()
	if r, err := c.loadUntil(t.Context(), end, time.Hour, 0); err != nil || r.OK != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMemoryIsReadFromTheBenchmark(t *testing.T) {
	t.Parallel()
	const out = "BenchmarkFiveMillion-2 \t 1\t 8e9 ns/op\t 51.38 B-over/item\t 1.01 held/used\t 4.9 ms-of-CPU/collection\nPASS"
	if over, collection, err := parseMemory(out); err != nil || over != 51.38 || collection != 4.9 {
		t.Errorf("%v, %v, %v", over, collection, err)
	}
	var missing skipped
	if _, _, err := parseMemory("PASS"); !errors.As(err, &missing) {
		t.Errorf("err = %v of a benchmark that is not there, want skipped", err)
	}
	if _, _, err := parseMemory("x B-over/item"); err == nil {
		t.Error("nonsense is read")
	}
}

// The router of a network looks at where a packet comes from and goes to.
func TestCutsDropWhatTheySay(t *testing.T) {
	t.Parallel()
	w := &wire{octet: 40}
	for how, want := range map[cut]string{
		cutOff:    "[[from 198.18.42.2] [to 198.18.42.2]]",
		mute:      "[[from 198.18.42.2]]",
		deaf:      "[[to 198.18.42.2]]",
		muteAmong: "[[from 198.18.42.2 to 198.18.41.2] [from 198.18.42.2 to 198.18.43.2]]",
		deafAmong: "[[to 198.18.42.2 from 198.18.41.2] [to 198.18.42.2 from 198.18.43.2]]",
	} {
		if got := fmt.Sprint(w.rules(how, 1, 3)); got != want {
			t.Errorf("cut %d of node 1: %s, want %s", how, got, want)
		}
	}
}

// TestCutsAreSilent makes a network, cuts it and takes it away.
func TestCutsAreSilent(t *testing.T) {
	t.Parallel()
	l, err := openLab(options{dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	w, err := l.wire(t.Context(), 2)
	if missing := (skipped{}); errors.As(err, &missing) {
		t.Skip(missing)
	} else if err != nil {
		t.Fatal(err)
	}
	reaches := func(within time.Duration) bool { // from this process, whether the namespace answers
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := new(net.Dialer).DialContext(ctx, "tcp", w.port(0, 7000))
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	if !reaches(10 * time.Second) {
		t.Fatal("nothing comes back from a whole network")
	}
	for _, how := range []cut{cutOff, mute, deaf} {
		if err := w.cut(t.Context(), how, 0, 2); err != nil {
			t.Fatal(err)
		}
		if reaches(200 * time.Millisecond) {
			t.Errorf("cut %d: an answer comes back", how)
		}
		if err := w.heal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !reaches(10 * time.Second) {
		t.Error("nothing comes back once the network is healed")
	}
	l.clear()
	if err := ip(t.Context(), "netns", "exec", w.router(), "true"); err == nil {
		t.Error("a namespace is left")
	}
}

func TestFiguresAreDrawnFromTheirFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "below", "bench.json")
	if err := measured().write(path); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(path, dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "writes.svg" {
		t.Fatalf("%q are drawn, %v; want what was measured", files, err)
	}
	svg, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the drawing is no XML: %v", err)
		}
	}
	for _, want := range []string{"60,000", "10,000", "64 clients", ">etcd<", ">ringraft<"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(path, dir); err == nil {
		t.Error("nonsense is drawn")
	}
}

func TestCeilingIsRound(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]float64{0.7: 0.75, 1: 1, 1.1: 1.5, 43_000: 50_000, 76: 100} {
		if got := ceiling(x); got != want {
			t.Errorf("ceiling of %v is %v, want %v", x, got, want)
		}
	}
}

func TestUsageIsReadFromProc(t *testing.T) {
	t.Parallel()
	const stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 5 0 1 2 3"
	u, err := parseUsage(stat, "100 25 10 1 0 5 0")
	if err != nil || u.cpu != 2*time.Second || u.rss != int64(25*os.Getpagesize()) {
		t.Errorf("usage %+v, %v", u, err)
	}
	for _, bad := range [][2]string{{"", ""}, {"1 (a) S 2", "1 2"}, {stat, "1"}, {strings.Replace(stat, "150", "x", 1), "1 2"}} {
		if _, err := parseUsage(bad[0], bad[1]); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func newLab(t *testing.T, tool string, c command) *lab {
	t.Helper()
	l, err := openLab(options{dir: t.TempDir(), duration: time.Second, runs: 1})
	if err != nil {
		t.Fatal(err)
	}
	l.tools[tool] = c
	return l
}

// alive reports whether the process is there, and no zombie of ours.
func alive(p *process) bool { return p.cmd.Process.Signal(syscall.Signal(0)) == nil }

func TestLabLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, "sleeper", command{program: "sleep"})
	for range 3 {
		dir, err := l.directory()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.start("s", dir, "sleeper", "1000"); err != nil {
			t.Fatal(err)
		}
	}
	nodes := l.nodes
	for _, p := range nodes {
		if !alive(p) {
			t.Errorf("%s does not run", p.name)
		}
	}
	if err := nodes[0].signal(syscall.SIGSTOP); err != nil { // one that stands still ends too
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range nodes {
		if alive(p) {
			t.Errorf("process %d is left", p.cmd.Process.Pid)
		}
	}
	if _, err := os.Stat(l.root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if err := l.close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestWaitTellsWhatAProcessSaidAtItsEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t, "failer", command{program: "sh"})
	defer l.close()
	dir, err := l.directory()
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.start("f", dir, "failer", "-c", "echo the port is taken; exit 1")
	if err != nil {
		t.Fatal(err)
	}
	<-p.ended
	ctx, cancel := context.WithCancel(t.Context())
	c := &cluster{lab: l}
	refused := errors.New("connection refused")
	err = c.await(ctx, func(context.Context) error { cancel(); return refused })
	if !errors.Is(err, refused) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("err = %v, want why it waited, why it stopped and what was said", err)
	}
}

func TestLoadIsReadFromItsProcess(t *testing.T) {
	t.Parallel()
	l := newLab(t, loadTool, command{program: "sh"})
	defer l.close()
	for name, c := range map[string]struct {
		script, want string
	}{
		"result":   {`echo '{"ops_per_s": 12.5, "ok": 3, "series": []}'`, ""},
		"nonsense": {"echo nonsense", "what the load printed"},
		"failure":  {"echo nobody is there >&2; exit 5", "nobody is there"},
	} {
		cl := &cluster{lab: l, loader: loadTool, loadArgs: []string{"-c", c.script}}
		r, err := cl.load(t.Context(), time.Second, 0)
		if c.want == "" && (err != nil || r.OpsPerS != 12.5 || r.OK != 3) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v; want %q", name, r, err, c.want)
		}
	}
}

func TestRedisIsFollowedOnceReplicasAreOnline(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "$9\r\nrole:master\r\nconnected_slaves:2\r\nslave0:ip=::1,state=online\r\nslave1:ip=::1,state=wait_bgsave\r\n")
			conn.Close()
		}
	})
	defer wg.Wait()
	defer ln.Close()
	if err := redisFollowed(t.Context(), ln.Addr().String(), 1); err != nil {
		t.Errorf("one of one: %v", err)
	}
	if err := redisFollowed(t.Context(), ln.Addr().String(), 2); err == nil || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("one of two: %v", err)
	}
}

func TestVersionsAreAskedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t, redis, command{program: "false", title: "redis-server"})
	defer l.close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.tools[etcd] = command{program: program}
	v, err := l.versions(t.Context())
	if err == nil || !strings.Contains(err.Error(), redis) {
		t.Errorf("%v, %v; it fails", v, err)
	}
	delete(l.tools, redis)
	if v, err := l.versions(t.Context()); err != nil || len(v) != 1 {
		t.Errorf("%v, %v; want that of the program", v, err)
	}
	out, err := printedVersion(t.Context(), command{program: "sh"}, "-c", "echo v1; echo more")
	if err != nil || out != "v1" {
		t.Errorf("%q, %v; want the first line", out, err)
	}
}

func TestMachineIsDescribed(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(thisMachine())
	if err != nil || !strings.Contains(string(b), `"cores"`) {
		t.Errorf("%s, %v", b, err)
	}
}
