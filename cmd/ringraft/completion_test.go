package main

import (
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, typed, has, hasNot string }{
		{"verbs", "", "cluster\n", "--"},
		{"verbs below a verb", "cluster", "transfer\n", "cluster\n"},
		{"nothing that is known about keys", "get", "", "\n"},
		{"flags", "get -", "--read\n", "--ttl\n"},
		{"flags behind arguments", "set k v --t", "--ttl\n", "--read\n"},
		{"flags of all clients before the verb", "-", "--endpoints\n", "--read\n"},
		{"no hidden flags", "server -", "--native\n", "--stop-with-stdin\n"},
		{"nothing after nonsense", "get --no-such-flag k -", "", "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := invocation{}.run(t, append(strings.Fields(c.typed), completionFlag)...)
			if o.code != exitDone || !strings.Contains(o.out, c.has) || strings.Contains(o.out, c.hasNot) {
				t.Errorf("exit code %d, completions %q; want %q and not %q", o.code, o.out, c.has, c.hasNot)
			}
		})
	}
}

func TestCompletionFlagIsAValueAfterDashes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "--", completionFlag)
	s.run(t, "get", "k").check(t, exitDone, completionFlag, "")
}
