package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/bench"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// short are flags of a run that takes no longer than it must.
var short = []string{"--clients", "4", "--keys", "50", "--requests", "200", "--warmup", "10ms"}

func TestBenchPrintsItsResult(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, c := range []struct {
		args   string
		target string
		reads  float64
	}{
		{"--op set", "cluster", 0},
		{"--op get --read local --connections 1", "cluster", 1},
		{"--op mixed --pipeline 2 --zipf 0.99", "cluster", 0.5},
		{"--reads 90% --rate 5000 --value-size 8-64 --ttl 1h", "cluster", 0.9},
		{"--op get --read local --wire --pipeline 4", "wire", 1},
		{"--op get --read bounded=1m --wire --rate 5000", "wire", 1},
	} {
		var r bench.Result
		args := append([]string{"bench"}, strings.Fields(c.args)...)
		s.run(t, append(args, short...)...).parse(t, &r)
		if r.OK != 200 || r.Errors+r.Unknown+r.Unsent != 0 || r.OpsPerS <= 0 || r.P50 <= 0 || r.Max < r.P50 || r.Seconds <= 0 {
			t.Errorf("%s: %+v", c.args, r)
		}
		if r.Load.Target != c.target || r.Load.Reads != c.reads || r.Load.Clients != 4 || r.Load.Keys != 50 || r.Load.Started.IsZero() {
			t.Errorf("%s: described as %+v", c.args, r.Load)
		}
	}
	if o := s.run(t, "exists", "bench:0", "bench:49"); o.out != "2\n" {
		t.Errorf("of the first and last key %q exist, want 2", o.out)
	}
}

// Reads of what is there need no writes, and over bare connections no cluster: only
// somebody who answers them.
func TestBenchReadsWithoutPuttingKeys(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"cluster", "wire"} {
		s := newShell(t)
		var others atomic.Int64
		s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
			if req.Op.Code() != op.CodeGet {
				others.Add(1)
			}
			return nil
		})
		args := []string{"bench", "--op", "get", "--read", "local", "--no-fill"}
		if target == "wire" {
			args = append(args, "--wire")
		}
		var r bench.Result
		s.run(t, append(args, short...)...).parse(t, &r)
		if r.OK != 200 || r.Load.Target != target || s.cluster.Served(op.CodeSet) > 0 || target == "wire" && others.Load() > 0 {
			t.Errorf("%s: %+v; %d sets, %d requests beside reads", target, r, s.cluster.Served(op.CodeSet), others.Load())
		}
	}
}

func TestBenchPrintsWhatItMeasuredWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var asked atomic.Int64
	s.cluster.Intercept(func(string, op.Request) *fakenode.Fault {
		if asked.Add(1) == 100 {
			interrupt()
		}
		return nil
	})
	var r bench.Result
	o := invocation{env: s.env}.runIn(ctx, t, "bench", "--op", "get", "--no-fill", "--clients", "4", "--warmup", "0s", "--duration", "24h")
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != exitFailed || r.OK < 50 || r.OK > 1000 {
		t.Errorf("exit code %d, %v, %+v; want what was answered until the interrupt: %s", o.code, err, r, o.err)
	}
}

func TestBenchResultHasItsDocumentedFields(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	newShell(t).run(t, append([]string{"bench"}, short...)...).parse(t, &doc)
	documented, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := doc["load"].(map[string]any)
	for name := range doc {
		fields[name] = nil
	}
	for name := range doc["series"].([]any)[0].(map[string]any) {
		fields[name] = nil
	}
	for name := range fields {
		if !strings.Contains(string(documented), "`"+name+"`") {
			t.Errorf("docs/benchmarks.md does not tell what %s is", name)
		}
	}
}

func TestBenchPrintsTextAndWritesAReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.html")
	o := newShell(t).run(t, append([]string{"bench", "-o", "text", "--report", path}, short...)...)
	if o.code != exitDone || !strings.Contains(o.out, "200 / 0 / 0 / 0") {
		t.Errorf("exit code %d: %s%s", o.code, o.out, o.err)
	}
	html, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(html), "<polyline") {
		t.Errorf("the report holds %.200s, %v", html, err)
	}
}

func TestBenchRefusesBadFlags(t *testing.T) {
	t.Parallel()
	for args, message := range map[string]string{
		"--no-fill":                       "--no-fill is for reads",
		"--op add":                        "--op is \"add\"; it is one of set, get, mixed",
		"--reads 101%":                    "--reads is \"101%\"; it is a number between 0% and 100%",
		"--reads x":                       "--reads is \"x\"",
		"--reads NaN":                     "--reads is \"NaN\"",
		"--op get --reads 50%":            "--reads is for --op mixed",
		"--clients 0":                     "--clients is 0; it must lie between 1 and 65536",
		"--pipeline 1025":                 "--pipeline is 1025; it must lie between 1 and 1024",
		"--clients 1000 --pipeline 100":   "--clients times --pipeline is 100000; it must be at most 65536",
		"--connections 65":                "--connections is 65; it must lie between 1 and 64",
		"--keys 0":                        "--keys is 0; it must lie between 1 and 100000000",
		"--zipf 5.1":                      "--zipf: the exponent is 5.1; it must lie between 0 and 5",
		"--value-size 20-10":              "--value-size has the range \"20-10\"",
		"--value-size 16777217":           "between 0 and 16777216",
		"--ttl 0s":                        "--ttl is 0s; it must lie between 1ms",
		"--rate=-1":                       "--rate is -1; it must lie between 0.1 and 10000000, or be 0",
		"--rate 0.05":                     "--rate is 0.05",
		"--backlog 5":                     "--backlog is for --rate",
		"--rate 10 --backlog 0":           "--backlog is 0; it must lie between 1 and 10000000",
		"--requests 0":                    "--requests is 0; it must lie between 1",
		"--duration 1ms":                  "--duration is 1ms; it must lie between 10ms and 24h0m0s",
		"--warmup 2h":                     "--warmup is 2h0m0s; it must lie between 0s and 1h0m0s",
		"--timeout 0s":                    "--timeout is 0s",
		"--read eventual":                 "no read level",
		"--wire":                          "--wire is for --op get at --read local or bounded=AGE",
		"--wire --op get":                 "--wire is for --op get at --read local or bounded=AGE",
		"--wire --reads 99% --read local": "--wire is for --op get",
		"--wire --resp h:1":               "--wire and --resp exclude each other",
		"--resp h":                        "--resp has \"h\"; it is a list HOST:PORT,HOST:PORT",
		"--resp ,h:1":                     "--resp has \"\"",
		"--resp h:1 --connections 2":      "--connections is for the cluster's client",
		"--resp h:1 --read local":         "--read is for a cluster",
		"--resp h:1 --resp-wait 65":       "--resp-wait is 65; it must lie between 0 and 64",
		"--resp-wait 1":                   "--resp-wait is for --resp",
		"extra":                           "there is no command \"extra\"",
		"compare a.json":                  "takes A.json B.json, got 1 arguments",
		"--wire --op get --read local --endpoints nowhere": "--endpoints has \"nowhere\"",
	} {
		invocation{}.run(t, append([]string{"bench"}, strings.Fields(args)...)...).check(t, exitUsage, "", message)
	}
}

func TestBenchFlagsAreCompletedOnce(t *testing.T) {
	t.Parallel()
	o := invocation{}.run(t, completionFlag, "bench", "--")
	names := strings.Fields(o.out)
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			t.Errorf("%s is offered twice", name)
		}
		seen[name] = true
	}
	if !seen["--rate"] || !seen["--endpoints"] {
		t.Errorf("offered %q", names)
	}
}

func TestBenchTellsThatNothingIsThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for _, args := range [][]string{{"--endpoints", address}, {"--resp", address}} {
		args = append([]string{"bench", "--warmup", "0s", "--requests", "1", "--timeout", "100ms", "-o", "text"}, args...)
		if o := (invocation{}).run(t, args...); o.code != exitUnavailable || !strings.Contains(o.err, address) {
			t.Errorf("%q: exit code %d, %s", args, o.code, o.err)
		}
	}
}

// respServer answers every command with OK, and WAIT with 1, until the test ends.
func respServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				lines := bufio.NewScanner(conn)
				for lines.Scan() { // the load closes when it ends
					switch lines.Text() {
					case "SET":
						_, _ = conn.Write([]byte("+OK\r\n"))
					case "WAIT":
						_, _ = conn.Write([]byte(":1\r\n"))
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

func TestBenchMeasuresRESPServers(t *testing.T) {
	t.Parallel()
	var r bench.Result
	args := append([]string{"bench", "--resp", respServer(t), "--value-size", "16", "--pipeline", "4"}, short...)
	invocation{}.run(t, append(args, "--resp-wait", "1")...).parse(t, &r)
	if r.OK != 200 || r.Errors+r.Unknown != 0 || r.Load.Target != "resp" || r.Load.Wait != 1 || r.Load.Level != "" {
		t.Errorf("%+v", r)
	}
	o := invocation{}.run(t, append(args, "--resp-wait", "2", "-o", "text")...)
	if o.code != exitUnavailable || !strings.Contains(o.err, "1 of 2 replicas have the write") {
		t.Errorf("with too few replicas: exit code %d, %s", o.code, o.err)
	}
}

func writeResult(t *testing.T, r bench.Result) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBenchCompares(t *testing.T) {
	t.Parallel()
	a := writeResult(t, bench.Result{OpsPerS: 1000, P50: 2, P99: 10, Seconds: 1})
	b := writeResult(t, bench.Result{OpsPerS: 2500, P50: 1.9, P99: 20, Seconds: 1})
	o := invocation{}.run(t, "bench", "compare", a, b)
	for _, want := range []string{"ops_per_s", "2.50", "better", "0.95", "tie", "2.00", "worse"} {
		if o.code != exitDone || !strings.Contains(o.out, want) {
			t.Errorf("exit code %d, %q is missing in:\n%s%s", o.code, want, o.out, o.err)
		}
	}
	var list []bench.Comparison
	invocation{}.run(t, "bench", "compare", a, b, "-o", "json").parse(t, &list)
	if len(list) != 10 || list[0] != (bench.Comparison{Figure: "ops_per_s", A: 1000, B: 2500, Ratio: 2.5, Verdict: bench.Better}) {
		t.Errorf("compared %+v", list)
	}
}

func TestBenchComparesResultsOnly(t *testing.T) {
	t.Parallel()
	good := writeResult(t, bench.Result{OpsPerS: 1000, Seconds: 1})
	for content, message := range map[string]string{"nonsense": "is no result of bench", "{}": "is no result of bench", "": "is no result of bench"} {
		path := filepath.Join(t.TempDir(), "bad.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		invocation{}.run(t, "bench", "compare", good, path).check(t, exitFailed, "", message)
	}
	invocation{}.run(t, "bench", "compare", "/nowhere/a.json", good).check(t, exitFailed, "", "/nowhere/a.json")
}
