package integration

import (
	"bufio"
	_ "embed"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/redis.txt
var redisCommands string

// TestRedisAnswersAreThoseOfRedis sends the same commands to a Redis server and to a
// node, and compares the answers byte for byte.
func TestRedisAnswersAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	theirs := startRedisServer(t)
	ours := dialRedis(t, startCluster(t, 1, "--replicas", "1").nodes[0].resp)
	lines := bufio.NewScanner(strings.NewReader(redisCommands))
	number, compared := 0, 0
	for lines.Scan() {
		number++
		switch line := lines.Text(); {
		case line == "# the same in RESP3":
			theirs.must(t, "HELLO", "3")
			ours.must(t, "HELLO", "3")
		case line == "" || line[0] == '#':
		default:
			args := splitLine(t, line)
			if got, want := ours.must(t, args...), theirs.must(t, args...); got != want {
				t.Errorf("line %d, %s: %q, Redis answers %q", number, line, got, want)
			}
			compared++
		}
	}
	if compared < 900 {
		t.Errorf("%d commands were compared, want 900", compared)
	}
}

// TestRedisDifferences: what a Redis server answers otherwise, as docs/redis.md says.
func TestRedisDifferences(t *testing.T) {
	t.Parallel()
	c := dialRedis(t, startCluster(t, 1, "--replicas", "1").nodes[0].resp)
	for _, tc := range []struct{ line, want string }{
		{`SET "" v`, "-ERR key: is empty"},
		{"SELECT 1", "-ERR DB index is out of range"},
		{"LPUSH l a", "-ERR unknown command 'LPUSH'"},
		{"SET k v PXAT 9223372036854775807", "-ERR invalid expire time in 'set' command"},
		{"SET k v", "+OK"},
		{"SET k w IFEQ x", "$-1"},
		{"SET k w IFEQ v", "+OK"},
		{"SET k x IFNE v GET", "$1\r\nw"},
		{"SET k y IFNE w", "+OK"},
		{"GET k", "$1\r\ny"},
		{"SET k y IFEQ v NX", "-ERR syntax error"},
		{"OBJECT IDLETIME k", ":0"},
		{"MEMORY USAGE k", ":66"},
		{"WAIT 1 1000", ":0"},
		{"PEXPIREAT k 4102450000000", ":1"},
		{"PEXPIRETIME k", ":41024"}, // and not to the millisecond
		{"READMODE", "$7\r\nsession"},
		{"READMODE linearizable", "+OK"},
		{"GET k", "$1\r\ny"},
		{"READMODE bounded 100", "+OK"},
		{"READMODE", "$11\r\nbounded 100"},
		{"READMODE bounded 0", "-ERR READMODE bounded"},
		{"READMODE never", "-ERR READMODE is"},
		{"CLUSTER KEYSLOT foo{bar}", ":5061"},
		{"CLUSTER KEYSLOT 123456789", ":12739"},
		{"MULTI", "+OK"},
		{"FLUSHALL", "-ERR Command not allowed inside a transaction"},
		{"EXEC", "-EXECABORT"},
		{"CONFIG SET max-value-bytes 4KiB", "+OK"},
		{"CONFIG SET nothing 1", "-ERR Unknown option"},
		{`EVAL "return loadstring" 0`, "-ERR user_script:1: Script attempted to access nonexistent global variable 'loadstring'"},
		{`EVAL "return coroutine" 0`, "-ERR user_script:1: Script attempted to access nonexistent global variable 'coroutine'"},
		{`EVAL "return 1 +" 0`, "-ERR Error compiling script (new function): user_script:1: syntax error near '<eof>'"},
		{`EVAL "return math.random(100)" 0`, ":18"},
		{`EVAL "return redis.call('flushall')" 0`, "-ERR This Redis command is not allowed from script"},
		{`EVAL "return redis.call('lpush', 'l', 'a')" 0`, "-ERR Unknown Redis command called from script"},
		{`EVAL "redis.call('set', 'partial', 1) return string.rep('x', 1e9)" 0`, "-ERR the script needs too much memory"},
		{`EXISTS partial`, ":0"},
	} {
		if got := c.must(t, splitLine(t, tc.line)...); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.line, got, tc.want)
		}
	}
}

// startRedisServer returns a connection to a server of Redis. Debian's redis-tools has
// one under another name. Without any the test is skipped.
func startRedisServer(t *testing.T) *redisConn {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		path, err = exec.LookPath("redis-check-rdb")
	}
	if err != nil {
		t.Skip("there is no redis-server; Debian's redis-tools has one")
	}
	host, port, _ := strings.Cut(freeAddresses(t, 1)[0], ":")
	cmd := &exec.Cmd{
		Path: path, Args: []string{"redis-server", "--bind", host, "--port", port, "--save", ""}, Dir: t.TempDir(),
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Kill) // it fails for a process that has ended
		_ = cmd.Wait()                  // killed
	})
	return dialRedis(t, host+":"+port)
}

// splitLine returns the words of a line. In double quotes a backslash begins an escape.
func splitLine(t *testing.T, line string) (args []string) {
	t.Helper()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word, rest := "", ""
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			word, _ = strconv.Unquote(quoted) // it has been checked
			rest = line[len(quoted):]
		} else {
			word, rest, _ = strings.Cut(line, " ")
		}
		args, line = append(args, word), rest
	}
	return args
}
