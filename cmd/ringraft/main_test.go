package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ringraft/ringraft/internal/fakenode"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == standIn {
		os.Exit(standInNode(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == completionFlag {
		main() // a shell completes
	}
	goleak.VerifyTestMain(m)
}

func TestNodesAndLoadsWithoutARateMayWakeLate(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"":                            false,
		"get key":                     false,
		"server --id n1":              true,
		"bench":                       true,
		"bench --op set --clients 64": true,
		"bench --rate 5000":           false,
		"bench --op get --rate=5000":  false,
		"bench -rate 5000":            false,
		"dev":                         false,
	} {
		if got := mayWakeLate(strings.Fields(args)); got != want {
			t.Errorf("%q: %v, want %v", args, got, want)
		}
	}
}

// outcome is what a command left behind.
type outcome struct {
	code     int
	out, err string
}

// invocation is a command line with its surroundings. The zero value has an empty
// standard input and environment.
type invocation struct {
	stdin    string
	env      map[string]string
	terminal bool
}

func (i invocation) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return i.runIn(t.Context(), t, args...)
}

func (i invocation) runIn(ctx context.Context, t *testing.T, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	con := &console{
		in: strings.NewReader(i.stdin), out: &out, err: &err,
		lookupEnv:   func(name string) (string, bool) { v, ok := i.env[name]; return v, ok },
		outTerminal: i.terminal, errTerminal: i.terminal,
	}
	code := con.run(ctx, append([]string{"ringraft"}, args...))
	return outcome{code, out.String(), err.String()}
}

// check fails the test unless the command ended with code, wrote exactly out, and
// a message that holds message, or none if that is "".
func (o outcome) check(t *testing.T, code int, out, message string) {
	t.Helper()
	if o.code != code || o.out != out {
		t.Errorf("exit code %d, output %q; want %d, %q (messages: %s)", o.code, o.out, code, out, o.err)
	}
	if !strings.Contains(o.err, message) || message == "" && o.err != "" {
		t.Errorf("messages %q; want %q in them", o.err, message)
	}
}

// parse fails the test unless the command succeeded with one JSON document, which it
// puts into v.
func (o outcome) parse(t *testing.T, v any) {
	t.Helper()
	if o.code != exitDone {
		t.Fatalf("exit code %d: %s", o.code, o.err)
	}
	if err := json.Unmarshal([]byte(o.out), v); err != nil {
		t.Fatalf("output %q is no JSON document: %v", o.out, err)
	}
}

// shell runs commands against a fake cluster.
type shell struct {
	cluster *fakenode.Cluster
	env     map[string]string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	cluster, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return &shell{cluster, map[string]string{"RINGRAFT_ENDPOINTS": strings.Join(cluster.Endpoints(), ",")}}
}

func (s *shell) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return invocation{env: s.env}.run(t, args...)
}

func (s *shell) runWith(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	return invocation{env: s.env, stdin: stdin}.run(t, args...)
}

// put runs set with args, which must succeed.
func (s *shell) put(t *testing.T, stdin string, args ...string) {
	t.Helper()
	if o := s.runWith(t, stdin, append([]string{"set"}, args...)...); o.code != exitDone {
		t.Fatalf("set %q: exit code %d: %s", args, o.code, o.err)
	}
}
