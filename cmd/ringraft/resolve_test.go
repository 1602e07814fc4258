package main

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// losing runs a command while no answer to a write with the code comes through, and
// returns the command that its message tells to type.
func losing(t *testing.T, s *shell, code op.Code, fault fakenode.Fault, stdin string, args ...string) string {
	t.Helper()
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if req.Op.Code() == code {
			return &fault
		}
		return nil
	})
	o := s.runWith(t, stdin, append(args, "--timeout", "300ms")...)
	s.cluster.Intercept(nil)
	_, command, found := strings.Cut(strings.TrimSpace(o.err), "ringraft: to ask for the outcome: ringraft ")
	if o.code != exitUnknown || !found {
		t.Fatalf("%q: exit code %d, messages %q; want %d and how to ask again", args, o.code, o.err, exitUnknown)
	}
	return command
}

// TestResolveTellsTheFirstAnswer as the write's own verb would have, and does nothing
// again: what was written since stays.
func TestResolveTellsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code  op.Code
		stdin string
		args  string
		exit  int
		out   string
		says  string
	}{
		"set":                {op.CodeSet, "", "set k v", exitDone, "version 2\n", ""},
		"unmet set":          {op.CodeSet, "", "set k v --if-absent", exitCondition, "", `set "k": condition not met: version 1`},
		"incr":               {op.CodeAdd, "", "incr k 5", exitDone, "12\n", ""},
		"incr out of bounds": {op.CodeAdd, "", "incr k -8 --at-least 0", exitCondition, "", "version 1 stands there"},
		"del":                {op.CodeMDelete, "", "del k", exitDone, "1\n", ""},
		"del on a condition": {op.CodeDelete, "", "del k --if-value 7", exitDone, "1\n", ""},
		"expire":             {op.CodeExpire, "", "expire k 1h", exitDone, "", ""},
		"expire of nothing":  {op.CodeExpire, "", "expire none 1h", exitNotFound, "", "not found"},
		"txn": {op.CodeTxn, `{"if": [{"key": "k", "value": "7"}], "then": [{"add": {"key": "k", "delta": 1}}, {"get": {"key": "k"}}]}`, "txn", exitDone,
			`{"met":true,"results":[{"key":"k","found":true,"version":2,"number":8},{"key":"k","value":"8","found":true,"version":2}]}` + "\n", ""},
		"unmet txn": {op.CodeTxn, `{"if": [{"key": "k", "absent": true, "show": true}], "then": []}`, "txn", exitCondition,
			`{"met":false,"standing":[{"key":"k","value":"7","found":true,"version":1,"ttl_ms":null}]}` + "\n", "compares"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.put(t, "", "k", "7")
			again := strings.Fields(losing(t, s, tc.code, fakenode.Fault{Cut: true}, tc.stdin, strings.Fields(tc.args)...))
			s.put(t, "", "k", "later")
			for range 2 {
				s.run(t, again...).check(t, tc.exit, tc.out, tc.says)
			}
			s.run(t, "get", "k").check(t, exitDone, "later", "")
		})
	}
}

// TestResolveDoesWhatNeverArrived: then the write is done now.
func TestResolveDoesWhatNeverArrived(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	again := losing(t, s, op.CodeSet, fakenode.Fault{Err: op.UnknownOutcome("who knows")}, "", "set", "k", "v")
	s.run(t, "get", "k").check(t, exitNotFound, "", "not found")
	s.run(t, strings.Fields(again)...).check(t, exitDone, "version 1\n", "")
	s.run(t, append(strings.Fields(again), "-o", "json")...).check(t, exitDone, `{"key":"k","version":1}`+"\n", "")
	s.run(t, "get", "k").check(t, exitDone, "v", "")
}

// TestResolveReadsALongTicketFromAFile that the message names, since a command line
// would not hold it.
func TestResolveReadsALongTicketFromAFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newShell(t)
	value := strings.Repeat("v", 200_000)
	again := losing(t, s, op.CodeSet, fakenode.Fault{Cut: true}, value, "set", "k", "-")
	path, found := strings.CutPrefix(again, "resolve - < ")
	if !found {
		t.Fatalf("the message says %q", again)
	}
	ticket, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(path); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner alone", at.Mode(), err)
	}
	s.runWith(t, string(ticket), "resolve", "-").check(t, exitDone, "version 1\n", "")
}

// TestResolveAfterTheSessionHasEnded: nobody can tell, so no ticket is offered again.
func TestResolveAfterTheSessionHasEnded(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	again := losing(t, s, op.CodeAdd, fakenode.Fault{Cut: true}, "", "incr", "n")
	s.cluster.Advance(4 * time.Minute)
	s.run(t, strings.Fields(again)...).check(t, exitDone, "1\n", "")
	s.cluster.Advance(time.Hour)
	o := s.run(t, strings.Fields(again)...)
	if o.code != exitUnknown || strings.Contains(o.err, client.TicketPrefix) {
		t.Errorf("exit code %d, messages %q; want %d and no ticket", o.code, o.err, exitUnknown)
	}
	s.run(t, "incr", "n").check(t, exitDone, "2\n", "")
}

// TestResolveOfATransactionOverGroups by ticket and by the id in the message.
func TestResolveOfATransactionOverGroups(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var ask atomic.Bool
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		switch req.Op.Code() {
		case op.CodeTxn, op.CodeGetTxn, op.CodeAbortTxn:
			if !ask.Load() {
				return &fakenode.Fault{Cut: true}
			}
		}
		return nil
	})
	o := s.runWith(t, `{"then": [{"set": {"key": "a", "value": "x"}}, {"set": {"key": "b", "value": "y"}}, {"set": {"key": "c", "value": "z"}}]}`, "txn", "--timeout", "300ms")
	ask.Store(true)
	_, id, _ := strings.Cut(o.err, "of transaction ")
	id, _, _ = strings.Cut(id, ":")
	_, again, found := strings.Cut(strings.TrimSpace(o.err), "to ask for the outcome: ringraft ")
	if o.code != exitUnknown || !found {
		t.Fatalf("exit code %d, messages %q", o.code, o.err)
	}
	s.run(t, "resolve", id).check(t, exitDone, "committed\n", "")
	s.run(t, "resolve", id, "-o", "json").check(t, exitDone, `{"id":"`+id+`","outcome":"committed"}`+"\n", "")
	s.run(t, strings.Fields(again)...).check(t, exitDone, `{"met":true}`+"\n", "")
	s.run(t, "resolve", "000-00000000000000000000000000000000").check(t, exitDone, "undecided\n", "")
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	s, other := newShell(t), newShell(t)
	again := strings.Fields(losing(t, s, op.CodeSet, fakenode.Fault{Cut: true}, "", "set", "k", "v"))
	s.run(t, "resolve").check(t, exitUsage, "", "takes TICKET")
	s.run(t, "resolve", "nonsense").check(t, exitUsage, "", "neither a ticket")
	s.run(t, "resolve", "-").check(t, exitUsage, "", "neither a ticket")
	s.run(t, "resolve", "fff-0").check(t, exitUsage, "", "neither a ticket")
	s.run(t, "resolve", again[1][:len(again[1])-1]).check(t, exitUsage, "", "ticket: is damaged")
	other.run(t, again...).check(t, exitUsage, "", "ticket: is of cluster")
}
