package main

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, stands string }{
		{"set k new --if-absent", "yes"},
		{"set k new --if-present", "no"},
		{"set k new --if-version 7", "yes"},
		{"set k new --if-value other", "yes"},
		{"del k --if-version 7", "yes"},
		{"del k --if-present", "no"},
		{"incr k --if-absent", "yes"},
		{"expire k 1h --if-value other", "yes"},
		{"expire k never --if-version 7", "yes"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			message := "nothing stands there"
			if c.stands == "yes" {
				s.put(t, "", "k", "41")
				message = "version 1 stands there"
			}
			s.run(t, strings.Fields(c.args)...).check(t, exitCondition, "", message)
			o := s.run(t, append(strings.Fields(c.args), "-o", "json", "--show")...)
			var doc map[string]any
			if err := json.Unmarshal([]byte(o.out), &doc); err != nil || o.code != exitCondition {
				t.Fatalf("exit code %d, output %q: %v", o.code, o.out, err)
			}
			if doc["key"] != "k" || doc["met"] != false || doc["found"] != (c.stands == "yes") {
				t.Errorf("told %v", doc)
			}
			if c.stands == "yes" && (doc["version"] != 1.0 || doc["value"] != "41" || !strings.Contains(o.err, "41")) {
				t.Errorf("told %v and %q, want version 1 and the value", doc, o.err)
			}
			if c.stands == "yes" {
				s.run(t, "get", "k").check(t, exitDone, "41", "")
			}
		})
	}
}

func TestConditionsThatHold(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run(t, "set", "k", "1", "--if-absent").check(t, exitDone, "version 1\n", "")
	s.run(t, "set", "k", "2", "--if-version", "1").check(t, exitDone, "version 2\n", "")
	s.run(t, "expire", "k", "1h", "--if-value", "2").check(t, exitDone, "", "")
	s.run(t, "incr", "k", "--if-present").check(t, exitDone, "3\n", "")
	s.run(t, "del", "k", "--if-value", "3", "-o", "json").check(t, exitDone, `{"deleted":1,"keys":[{"key":"k","deleted":true}]}`+"\n", "")
	s.run(t, "del", "k", "--if-absent").check(t, exitDone, "0\n", "")
}

func TestIncrWithinBounds(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run(t, "incr", "seats", "1", "--ttl", "1h").check(t, exitDone, "1\n", "")
	s.run(t, "incr", "seats", "-1", "--at-least", "0").check(t, exitDone, "0\n", "")
	s.run(t, "incr", "seats", "-1", "--at-least", "0").check(t, exitCondition, "", "version 2 stands there")
	s.run(t, "incr", "seats", "-1", "--at-least", "0", "--show").check(t, exitCondition, "", ": 0")
	s.run(t, "incr", "seats", "9", "--at-most", "5", "--clamp").check(t, exitDone, "5\n", "")
	s.run(t, "incr", "seats", "--at-least", "2", "--at-most", "1").check(t, exitUsage, "", "--at-least is 2")
	if o := s.run(t, "ttl", "seats"); o.out == "none\n" {
		t.Error("the time to live is gone")
	}
}

// TestLostAnswersDoNotShow on the command line.
func TestLostAnswersDoNotShow(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var opened, added atomic.Int64
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		switch code := req.Op.Code(); {
		case code == op.CodeOpenSession && opened.Add(1) < 3, code == op.CodeAdd && added.Add(1) < 3:
			return &fakenode.Fault{Cut: true}
		}
		return nil
	})
	s.run(t, "incr", "n").check(t, exitDone, "1\n", "")
	s.run(t, "incr", "n").check(t, exitDone, "2\n", "")
}
