package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestSetThenGet(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run(t, "set", "greeting", "hello").check(t, exitDone, "version 1\n", "")
	s.run(t, "set", "greeting", "hello", "-o", "json").check(t, exitDone, `{"key":"greeting","version":2}`+"\n", "")
	s.run(t, "get", "greeting").check(t, exitDone, "hello", "")
	s.run(t, "get", "absent").check(t, exitNotFound, "", "not found")
}

func TestValuesComeBackByteForByte(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, value := range map[string]string{
		"empty": "", "newline": "a\n", "nul": "a\x00b", "every byte": string(every), "a dash": "-", "crlf": "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "value")
			if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
			for from, set := range map[string]func(key string) outcome{
				"standard input": func(key string) outcome { return s.runWith(t, value, "set", key, "-") },
				"input as file":  func(key string) outcome { return s.runWith(t, value, "set", key, "--value-file", "-") },
				"file":           func(key string) outcome { return s.run(t, "set", "--value-file", path, key) },
			} {
				key := name + " from " + from
				if o := set(key); o.code != exitDone {
					t.Fatalf("%s: exit code %d: %s", key, o.code, o.err)
				}
				s.run(t, "get", key).check(t, exitDone, value, "")
			}
		})
	}
}

func TestArgumentsThatLookLikeFlags(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "--", "-key", "--value")
	s.run(t, "get", "--", "-key").check(t, exitDone, "--value", "")
	s.put(t, "", "--", "--", "--")
	s.run(t, "get", "-o", "text", "--", "--").check(t, exitDone, "--", "")
	s.put(t, "", "temperature", "-5")
	s.run(t, "get", "temperature").check(t, exitDone, "-5", "")
	s.put(t, "", "help", "me")
	s.run(t, "get", "help").check(t, exitDone, "me", "")
}

func TestGetEndsItsLineOnATerminalOnly(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "v")
	invocation{env: s.env, terminal: true}.run(t, "get", "k").check(t, exitDone, "v\n", "")
}

func TestGetPrintsJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "<&>é")
	s.run(t, "get", "k", "-o", "json").check(t, exitDone, `{"key":"k","value":"<&>é","version":1,"ttl_ms":null}`+"\n", "")
	s.put(t, "", "empty", "")
	s.run(t, "get", "empty", "-o", "json").check(t, exitDone, `{"key":"empty","value":"","version":1,"ttl_ms":null}`+"\n", "")
	s.put(t, "\xff\x00", "--key-base64", "/wA=", "-")
	s.run(t, "get", "--key-base64", "/wA=", "-o", "json").
		check(t, exitDone, `{"key_base64":"/wA=","value_base64":"/wA=","version":1,"ttl_ms":null}`+"\n", "")
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "v", "--ttl", "1h")
	var doc struct {
		TTL *int64 `json:"ttl_ms"`
	}
	s.run(t, "ttl", "k", "-o", "json").parse(t, &doc)
	if hour := time.Hour.Milliseconds(); doc.TTL == nil || *doc.TTL < 1 || *doc.TTL > hour {
		t.Errorf("ttl_ms = %v, want 1 to %d", doc.TTL, hour)
	}
	s.put(t, "", "k", "w", "--keep-ttl")
	if o := s.run(t, "ttl", "k"); o.code != exitDone || o.out == "none\n" {
		t.Errorf("after --keep-ttl: exit code %d, output %q; want a number", o.code, o.out)
	}
	s.run(t, "expire", "k", "never").check(t, exitDone, "", "")
	s.run(t, "ttl", "k").check(t, exitDone, "none\n", "")
	s.run(t, "ttl", "k", "-o", "json").check(t, exitDone, `{"key":"k","ttl_ms":null}`+"\n", "")
	s.run(t, "expire", "k", "2h").check(t, exitDone, "", "")
	if o := s.run(t, "ttl", "k"); o.code != exitDone || o.out == "none\n" {
		t.Errorf("after expire: exit code %d, output %q; want a number", o.code, o.out)
	}
	s.run(t, "ttl", "absent").check(t, exitNotFound, "", "not found")
	s.run(t, "expire", "absent", "1s").check(t, exitNotFound, "", "not found")
	s.run(t, "expire", "absent", "never").check(t, exitNotFound, "", "not found")
}

func TestCountsOfKeys(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "a", "1")
	s.run(t, "exists", "a", "b").check(t, exitDone, "1\n", "")
	s.run(t, "exists", "a", "b", "-o", "json").
		check(t, exitDone, `{"count":1,"keys":[{"key":"a","exists":true},{"key":"b","exists":false}]}`+"\n", "")
	s.run(t, "exists", "b").check(t, exitNotFound, "0\n", "not found")
	s.run(t, "del", "a", "b").check(t, exitDone, "1\n", "")
	s.run(t, "del", "a").check(t, exitDone, "0\n", "")
	s.put(t, "", "a", "1")
	s.run(t, "del", "a", "-o", "json").check(t, exitDone, `{"deleted":1,"keys":[{"key":"a","deleted":true,"version":4}]}`+"\n", "")
}

func TestIncr(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run(t, "incr", "n").check(t, exitDone, "1\n", "")
	s.run(t, "incr", "n", "10").check(t, exitDone, "11\n", "")
	s.run(t, "incr", "n", "-5").check(t, exitDone, "6\n", "")
	s.run(t, "incr", "n", "--", "-5").check(t, exitDone, "1\n", "")
	s.run(t, "incr", "n", "-o", "json").check(t, exitDone, `{"key":"n","number":2}`+"\n", "")
	s.put(t, "", "n", "many")
	s.run(t, "incr", "n").check(t, exitCondition, "", "is not an integer")
}

func TestFailuresHaveTheirExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault fakenode.Fault
		args  string
		code  int
	}{
		{"refused", fakenode.Fault{Err: op.Invalid("value", "has too many bytes")}, "set k v", exitUsage},
		{"no room", fakenode.Fault{Err: &op.Error{Kind: op.KindOutOfMemory, Message: "no room"}}, "set k v", exitFailed},
		{"no leader", fakenode.Fault{Err: op.Unavailable("no leader")}, "set k v --timeout 50ms", exitUnavailable},
		{"no leader for a read", fakenode.Fault{Err: op.Unavailable("no leader")}, "get k --timeout 50ms", exitUnavailable},
		{"the answer is lost", fakenode.Fault{Cut: true}, "incr k --timeout 500ms", exitUnknown},
		{"the deadline passes", fakenode.Fault{Mute: true}, "incr k --timeout 500ms", exitUnknown},
		{"all keys fail", fakenode.Fault{Err: op.Unavailable("no leader")}, "del k l --timeout 50ms", exitUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
				if op.SpecOf(req.Op.Code()).Class == op.ClassCluster || req.Op.Code() == op.CodeOpenSession {
					return nil
				}
				return &c.fault
			})
			o := s.run(t, strings.Fields(c.args)...)
			late := c.code == exitUnavailable && o.code == exitUnknown && strings.Contains(o.err, "ringraft resolve") // the deadline has met a write on its way
			if o.code != c.code && !late || o.err == "" || o.out != "" {
				t.Errorf("exit code %d, output %q, messages %q; want %d and a message alone", o.code, o.out, o.err, c.code)
			}
		})
	}
}

func TestNoServerIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"get k", "set k v", "scan", "cluster status", "bench", "export"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			typed := append(strings.Fields(args), "--endpoints", "127.0.0.1:1", "--timeout", "200ms")
			invocation{}.run(t, typed...).check(t, exitUnavailable, "", "127.0.0.1:1")
		})
	}
}

func TestBadFlagsNameThemselves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, message string }{
		{"get", "takes KEY"},
		{"get a b", "takes KEY"},
		{"get k -o yaml", "--output"},
		{"get k --read stale", "--read"},
		{"get k --timeout 0s", "--timeout"},
		{"get k --timeout soon", "timeout"},
		{"get k --endpoints ,", "--endpoints"},
		{"get k --key-base64", "base64"},
		{"set k", "no value"},
		{"set k v --value-file f", "--value-file"},
		{"set k v --ttl 0s", "--ttl"},
		{"set k v --ttl=-1s", "--ttl"},
		{"set k v --ttl 100us", "--ttl"},
		{"set k v --ttl 1ms500us", "--ttl"},
		{"set k v --ttl 9999999h", "--ttl"},
		{"set k v --ttl forever", "--ttl"},
		{"set k v --ttl 1s --keep-ttl", "--keep-ttl"},
		{"set k v --if-absent --if-present", "--if-present"},
		{"set k v --if-version 1 --if-value v", "--if-value"},
		{"set k v --if-version 0", "--if-version"},
		{"set k v --if-version 01", "--if-version"},
		{"set k v --if-version=-1", "--if-version"},
		{"set k v --if-version=+1", "--if-version"},
		{"set k v --show", "--show"},
		{"del k l --if-absent", "one KEY"},
		{"incr k --clamp", "--clamp"},
		{"incr k --at-least 1.5", "--at-least"},
		{"incr k --at-most 01", "--at-most"},
		{"incr k 01", "N is"},
		{"incr k +1", "N is"},
		{"get k --read bounded=0s", "--read"},
		{"get k --read session", "--session-token"},
		{"txn a b", "takes"},
		{"set k v --ttl 9999999h", "2562047h"},
		{"expire k 0s", "TIME"},
		{"expire k -5s", "TIME is -5s"},
		{"expire k never-ever", "between 1ms and 2562047h"},
		{"export all", `takes flags only, got "all"`},
		{"incr k 1.5", "N is"},
		{"incr k 9223372036854775808", "N is"},
		{"scan --limit -1", "--limit"},
		{"import f --skip -1", "--skip"},
		{"cluster transfer two", "GROUP"},
		{"completion tcsh", "tcsh"},
		{"bench --op push", "--op"},
		{"bench --clients 0", "--clients"},
		{"bench --clients 1000 --pipeline 1000", "--pipeline"},
		{"bench --value-size 999999999", "--value-size"},
		{"bench --duration 0s", "--duration"},
		{"dev --nodes 0", "--nodes"},
		{"dev --groups 9999", "--groups"},
		{"dev --replicas 2", "--replicas"},
		{"dev --base-port 65535", "--base-port"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			invocation{}.run(t, strings.Fields(c.args)...).check(t, exitUsage, "", c.message)
		})
	}
}

func TestEnvironmentIsOutweighedByFlags(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	endpoints := s.env["RINGRAFT_ENDPOINTS"]
	broken := invocation{env: map[string]string{"RINGRAFT_ENDPOINTS": "127.0.0.1:1"}}
	broken.run(t, "set", "k", "v", "--endpoints", endpoints).check(t, exitDone, "version 1\n", "")
	broken.run(t, "get", "k", "--timeout", "200ms").check(t, exitUnavailable, "", "127.0.0.1:1")
	invocation{env: map[string]string{"RINGRAFT_TIMEOUT": "soon"}}.run(t, "get", "k").
		check(t, exitUsage, "", "RINGRAFT_TIMEOUT")
}

func TestHelpHasExamplesForEveryVerb(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, cmd := range (&console{}).app().Commands {
		paths = append(paths, cmd.Name)
		for _, sub := range cmd.Subcommands {
			paths = append(paths, cmd.Name+" "+sub.Name)
		}
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			byFlag := invocation{}.run(t, append(strings.Fields(path), "--help")...)
			byVerb := invocation{}.run(t, append([]string{"help"}, strings.Fields(path)...)...)
			if byFlag.code != exitDone || byFlag.out != byVerb.out {
				t.Errorf("--help prints (exit code %d)\n%s\nhelp prints (exit code %d)\n%s", byFlag.code, byFlag.out, byVerb.code, byVerb.out)
			}
			if verb := "ringraft " + path; strings.Count(byFlag.out, verb) < 3 && path != "help" {
				t.Errorf("%q has no example of %q", byFlag.out, verb)
			}
		})
	}
}

func TestVersionAndCompletion(t *testing.T) {
	t.Parallel()
	o := invocation{}.run(t, "version")
	if o.code != exitDone || !strings.HasPrefix(o.out, "ringraft ") {
		t.Errorf("version: exit code %d, output %q", o.code, o.out)
	}
	invocation{}.run(t, "--version").check(t, exitDone, o.out, "")
	var doc map[string]string
	invocation{}.run(t, "version", "-o", "json").parse(t, &doc)
	if doc["version"] == "" || doc["go"] == "" {
		t.Errorf("version in JSON: %v", doc)
	}
	for _, name := range []string{"bash", "zsh", "fish"} {
		o := invocation{}.run(t, "completion", name)
		if o.code != exitDone || !strings.Contains(o.out, completionFlag) {
			t.Errorf("completion %s: exit code %d, output %q", name, o.code, o.out)
		}
	}
}
