package redisclients

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// redisCLI runs redis-cli on a node with so much standard input, and returns what it
// prints. It must end by itself and with exit code 0.
func redisCLI(t *testing.T, d *dev, node int, input string, args ...string) string {
	t.Helper()
	return tool(t, "redis-cli", input, append([]string{"-p", d.port(node)}, args...)...)
}

// wantCLI fails the test unless redis-cli prints what is wanted. What only reads may do so
// a little later: another run has written it, over another connection.
func wantCLI(t *testing.T, d *dev, node int, input, want string, args ...string) {
	t.Helper()
	got := redisCLI(t, d, node, input, args...)
	if got == want {
		return
	}
	if !slices.ContainsFunc(args, func(arg string) bool { return arg == "GET" || arg == "MGET" || arg == "STRLEN" }) {
		t.Errorf("redis-cli %q after %q: %q, want %q", args, input, got, want)
		return
	}
	eventually(t, fmt.Sprintf("redis-cli %q", args), func() error {
		if got := redisCLI(t, d, node, input, args...); got != want {
			return fmt.Errorf("it prints %q, want %q", got, want)
		}
		return nil
	})
}

// tool runs a program of Debian's redis-tools, which must end with exit code 0. Without
// it the test is skipped.
func tool(t *testing.T, name, input string, args ...string) string {
	t.Helper()
	out, err := tryTool(t, name, input, args...)
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return out
}

// undisturbed is tool for what writes for so long that on a busy machine a leader may fall
// silent meanwhile, for which it is replaced. Then it is run again.
func undisturbed(t *testing.T, name, input string, args ...string) (out string) {
	t.Helper()
	eventually(t, name+" is undisturbed", func() (err error) {
		out, err = tryTool(t, name, input, args...)
		switch {
		case err == nil:
			return nil
		case strings.Contains(out, "UNKNOWN ") || strings.Contains(out, "CLUSTERDOWN "):
			return fmt.Errorf("%w: %s", err, out)
		}
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
		return nil
	})
	return out
}

func tryTool(t *testing.T, name, input string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s; Debian's redis-tools has it", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	err = cmd.Run()
	return out.String(), err
}

// has fails the test for each of the texts that is missing.
func has(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q is missing in %s", what, w, text)
		}
	}
}

func cliCommands(t *testing.T, d *dev) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"SET", "cli:a", "hello"}, "OK\n"},
		{[]string{"GET", "cli:a"}, "hello\n"},
		{[]string{"--no-raw", "GET", "cli:a"}, "\"hello\"\n"},
		{[]string{"--json", "GET", "cli:a"}, "\"hello\"\n"},
		{[]string{"--csv", "MGET", "cli:a", "cli:none"}, "\"hello\",NULL\n"},
		{[]string{"--no-raw", "GET", "cli:none"}, "(nil)\n"},
		{[]string{"-3", "--no-raw", "CONFIG", "GET", "save"}, "1# \"save\" => \"\"\n"},
		{[]string{"-2", "--no-raw", "CONFIG", "GET", "save"}, "1) \"save\"\n2) \"\"\n"},
		{[]string{"--no-raw", "STRLEN", "cli:a"}, "(integer) 5\n"},
		{[]string{"-n", "0", "--quoted-input", "SET", "cli:bytes", `"\x00\xff"`}, "OK\n"},
		{[]string{"--no-raw", "GET", "cli:bytes"}, "\"\\x00\\xff\"\n"},
		{[]string{"-r", "3", "INCR", "cli:count"}, "1\n2\n3\n"},
		{[]string{"INCR", "cli:a"}, "ERR value is not an integer or out of range\n\n"},
	} {
		wantCLI(t, d, 1, "", tc.want, tc.args...)
	}
	has(t, "HELLO", redisCLI(t, d, 1, "", "-3", "HELLO"), "server redis", "proto 3")
}

func cliInput(t *testing.T, d *dev) {
	for _, tc := range []struct {
		input string
		args  []string
		want  string
	}{
		{"two\nlines", []string{"-x", "SET", "cli:input"}, "OK\n"},
		{"", []string{"GET", "cli:input"}, "two\nlines\n"},
		{"key", []string{"-X", "name", "SET", "name", "by name"}, "OK\n"},
		{"SET cli:lines 1\nINCR cli:lines\nMULTI\nINCR cli:lines\nGET cli:lines\nEXEC\n", nil, "OK\n2\nOK\nQUEUED\nQUEUED\n3\n3\n"},
	} {
		wantCLI(t, d, 2, tc.input, tc.want, tc.args...)
	}
}

// cliPipe inserts many keys at once, as commands of the protocol and as lines.
func cliPipe(t *testing.T, d *dev) {
	const n = 5000
	var commands, lines strings.Builder
	for i := range n {
		key, value := fmt.Sprintf("cli:pipe:%d", i), fmt.Sprint(i)
		fmt.Fprintf(&commands, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(value), value)
		fmt.Fprintf(&lines, "SET %s %d\r\n", key, i+1)
	}
	for _, input := range []string{commands.String(), lines.String()} {
		has(t, "--pipe", undisturbed(t, "redis-cli", input, "-p", d.port(3), "--pipe"), fmt.Sprintf("errors: 0, replies: %d", n))
	}
	wantCLI(t, d, 3, "", fmt.Sprintln(n), "GET", fmt.Sprintf("cli:pipe:%d", n-1))
	has(t, "--pipe with a line that fails", redisCLIFails(t, d, 3, "SET cli:word abc\r\nINCR cli:word\r\n", "--pipe"), "errors: 1, replies: 2")
}

// redisCLIFails is redisCLI where the exit code tells of errors.
func redisCLIFails(t *testing.T, d *dev, node int, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-p", d.port(node)}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%q: %v, want exit code 1", args, err)
	}
	return string(out)
}

func cliKeys(t *testing.T, d *dev) {
	redisCLI(t, d, 1, "", "MSET", "cli:keys:1", "a", "cli:keys:2", "bb", "cli:keys:3", strings.Repeat("c", 100_000))
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--scan", "--pattern", "cli:keys:*"}, "cli:keys:3\n"},
		{[]string{"--bigkeys"}, `Biggest string found '"cli:keys:3"' has 100000 bytes`},
		{[]string{"--memkeys"}, `Biggest string found '"cli:keys:3"' has 100`},
	} {
		eventually(t, tc.args[0], func() error { // the keys were written over another connection
			if got := redisCLI(t, d, 1, "", tc.args...); !strings.Contains(got, tc.want) {
				return fmt.Errorf("%q is missing in %s", tc.want, got)
			}
			return nil
		})
	}
}

// cliLatency measures for a second and ends, since no terminal is there.
func cliLatency(t *testing.T, d *dev) {
	if got := redisCLI(t, d, 1, "", "--latency"); !regexp.MustCompile(`^\d+ \d+ [\d.]+ \d+\n$`).MatchString(got) {
		t.Errorf("--latency: %q; want least, most, mean and count", got)
	}
}

func cliCluster(t *testing.T, d *dev) {
	d.allLead(t)
	if got := redisCLI(t, d, 1, "SET cli:c 1\nINCR cli:c\n", "-c"); got != "OK\n2\n" {
		t.Errorf("-c: %q", got)
	}
	at := d.address(2)
	has(t, "--cluster check", tool(t, "redis-cli", "", "--cluster", "check", at), "[OK] All nodes agree about slots configuration.", "[OK] All 16384 slots covered.")
	has(t, "--cluster info", tool(t, "redis-cli", "", "--cluster", "info", at), append(d.addresses(), fmt.Sprintf("in %d masters", nodes))...)
	calls := tool(t, "redis-cli", "", "--cluster", "call", at, "PING")
	for _, address := range d.addresses() {
		has(t, "--cluster call", calls, address+": PONG")
	}
}
