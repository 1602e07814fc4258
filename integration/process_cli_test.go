package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/client"
)

// commandLine runs the program against a cluster.
type commandLine struct {
	t         *testing.T
	endpoints string
}

func (c *liveCluster) commandLine() commandLine {
	return commandLine{c.t, strings.Join(c.endpoints(), ",")}
}

// run runs the program with args and stdin, and returns what it printed and its code.
func (cl commandLine) run(stdin []byte, args ...string) (out []byte, messages string, code int) {
	cl.t.Helper()
	cmd := exec.CommandContext(cl.t.Context(), program(cl.t), args...)
	cmd.Env = append(cleanEnv(), "RINGRAFT_ENDPOINTS="+cl.endpoints)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	code = exitCode(cmd.Run())
	return stdout.Bytes(), stderr.String(), code
}

// want fails the test unless the program succeeds, and returns what it printed.
func (cl commandLine) want(stdin []byte, args ...string) []byte {
	cl.t.Helper()
	out, messages, code := cl.run(stdin, args...)
	if code != 0 {
		cl.t.Fatalf("ringraft %q: exit code %d: %s", args, code, messages)
	}
	return out
}

// TestCommandLineCarriesAnyBytes stores keys and values that shells and JSON find
// hard, and gets them back byte for byte.
func TestCommandLineCarriesAnyBytes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "2")
	ringraft := c.commandLine()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for key, value := range map[string][]byte{
		"plain":            []byte("value"),
		"-k":               []byte("-1"),
		"--":               []byte("--"),
		"empty":            {},
		"with\nnewline":    []byte("one\ntwo\n"),
		"%50 /?#;":         []byte(`{"json": "no"}`),
		"binary":           all,
		"large":            bytes.Repeat(all, 4096), // the default limit
		"\xff\xfe no UTF8": {0},
	} {
		ringraft.want(value, "set", "--value-file", "-", "--", key)
		if got := ringraft.want(nil, "get", "--", key); !bytes.Equal(got, value) {
			t.Errorf("get %q: %d bytes, want %d", key, len(got), len(value))
		}
		v, err := c.client.Get(t.Context(), key, client.At(client.Linearizable))
		if err != nil || !bytes.Equal(v.Bytes, value) {
			t.Errorf("client: %q: %d bytes, %v; want %d", key, len(v.Bytes), err, len(value))
		}
	}
	ringraft.want(nil, "set", "arguments", "-5")
	if got := ringraft.want(nil, "get", "arguments"); string(got) != "-5" {
		t.Errorf("got %q, want -5", got)
	}
	if _, messages, code := ringraft.run(append(bytes.Repeat(all, 4096), 0), "set", "larger", "-"); code != 2 || !strings.Contains(messages, "max-value-bytes") {
		t.Errorf("a value over the limit: exit code %d: %s", code, messages)
	}
}

// TestExitCodesTellOutcomesApart drives a live cluster into each.
func TestExitCodesTellOutcomesApart(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1")
	ringraft := c.commandLine()
	ringraft.want(nil, "set", "word", "five")
	expect := func(code int, args ...string) {
		t.Helper()
		out, messages, got := ringraft.run(nil, args...)
		if got != code || len(out) != 0 || !strings.HasPrefix(messages, "ringraft: ") {
			t.Errorf("ringraft %q: exit code %d, output %q, messages %q; want code %d and a message", args, got, out, messages, code)
		}
	}
	expect(2, "set", "key")
	expect(2, "get", "key", "--no-such-flag")
	expect(3, "get", "missing")
	expect(3, "ttl", "missing")
	expect(4, "incr", "word")
	expect(5, "get", "word", "--endpoints", freeAddresses(t, 1)[0], "--timeout", "1s")

	leader := c.leader(1)
	for _, n := range c.others(leader) {
		n.pause()
	}
	expect(5, "get", "word", "--timeout", "1s")
	for _, n := range c.others(leader) {
		n.resume()
	}
	c.waitReady()
	ringraft.want(nil, "get", "word")
}

// TestLostAnswerIsAnUnknownOutcome takes the answer to a write away. The write has
// happened, and the exit code says that it may have; the message says how to ask, and
// whoever does so is told the first answer, though the key was changed since.
func TestLostAnswerIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "--groups", "1", "--replicas", "1")
	n := c.nodes[0]
	proxy := startMutingProxy(t, n.native, "unheard")
	n.args = append(n.args, "--advertise-native", proxy.address())
	n.start()
	c.connect()
	ringraft := commandLine{t, proxy.address()}
	out, messages, code := ringraft.run(nil, "set", "word", "unheard", "--timeout", "1s")
	_, again, told := strings.Cut(strings.TrimSpace(messages), "ask for the outcome: ringraft ")
	if code != 6 || len(out) != 0 || !told {
		t.Fatalf("exit code %d, output %q: %s; want 6 and how to ask again", code, out, messages)
	}
	proxy.speak()
	if got := ringraft.want(nil, "get", "word"); string(got) != "unheard" {
		t.Errorf("the write left %q", got)
	}
	ringraft.want(nil, "set", "word", "later")
	if got := ringraft.want(nil, strings.Fields(again)...); string(got) != "version 1\n" {
		t.Errorf("asked again, the write is said to have given %q", got)
	}
	if got := ringraft.want(nil, "get", "word"); string(got) != "later" {
		t.Errorf("asking again left %q", got)
	}
}

// TestExportIsWhatImportReads takes some thousand records through a file into
// another keyspace and back.
func TestExportIsWhatImportReads(t *testing.T) {
	t.Parallel()
	const count = 3000
	c := startCluster(t, 3)
	ringraft := c.commandLine()
	var file bytes.Buffer
	for i := range count {
		line := map[string]any{"key": fmt.Sprintf("é-%d", i), "value": fmt.Sprintf("line\n%d", i)}
		if i%7 == 0 {
			line = map[string]any{"key": fmt.Sprintf("b-%d", i), "value_base64": []byte{0xff, byte(i), byte(i >> 8)}}
		}
		if err := json.NewEncoder(&file).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var counts struct{ Lines, Stored, Failed int }
	decode(t, ringraft.want(nil, "import", path, "-o", "json"), &counts)
	if counts.Lines != count || counts.Stored != count || counts.Failed != 0 {
		t.Errorf("import: %+v, want %d", counts, count)
	}
	first := sortedLines(ringraft.want(nil, "export"))
	if len(first) != count {
		t.Fatalf("export has %d lines, want %d", len(first), count)
	}
	ringraft.want(nil, "del", "b-0", "é-1")
	ringraft.want([]byte(strings.Join(first, "\n")), "import", "-")
	if second := sortedLines(ringraft.want(nil, "export")); !slices.Equal(first, second) {
		t.Errorf("export after import differs: %d lines, %d before", len(second), len(first))
	}
	_, messages, code := ringraft.run([]byte("{\"key\":\"good\",\"value\":\"1\"}\nno JSON\n{\"key\":\"\",\"value\":\"1\"}\n"), "import", "-")
	if code != 1 || !strings.Contains(messages, "line 2") || !strings.Contains(messages, "line 3") {
		t.Errorf("import of bad lines: exit code %d: %s", code, messages)
	}
	c.want("good", "1")
}

func sortedLines(b []byte) []string {
	return slices.Sorted(strings.Lines(string(b)))
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
}

// TestStatusAndTransfer reads the status document by the fields that it promises,
// moves a leader, and finds it there.
func TestStatusAndTransfer(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	ringraft := c.commandLine()
	status := ringraft.status()
	if status.ClusterID == "" || status.Epoch == 0 || len(status.Nodes) != 3 || len(status.Groups) != 4 {
		t.Fatalf("status: %+v", status)
	}
	for i, n := range status.Nodes {
		if n.ID != c.nodes[i].id || n.Native != c.nodes[i].native || n.Peer != c.nodes[i].peer || n.State != "up" {
			t.Errorf("node %d: %+v", i, n)
		}
	}
	for _, g := range status.Groups {
		if g.ID == 0 || g.Leader == "" || g.Term == 0 || len(g.Replicas) != 3 {
			t.Errorf("group: %+v", g)
		}
	}
	ringraft.want(nil, "set", "k", "v") // by a client of its own, which ends its session
	if _, err := c.client.Set(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status shows the session, and the memory of the record on all replicas", func() error {
		var sessions, bytes int64
		holders := 0
		for _, g := range ringraft.status().Groups {
			sessions, bytes = sessions+g.Sessions, bytes+g.SessionBytes
			for _, r := range g.Replicas {
				if r.MemoryUsed > 0 && r.MemoryHeld >= r.MemoryUsed {
					holders++
				}
			}
		}
		if holders != 3 {
			return fmt.Errorf("%d replicas hold memory, want 3", holders)
		}
		if sessions != 1 || bytes <= 128 {
			return fmt.Errorf("it shows %d sessions of %d bytes, want one with an answer", sessions, bytes)
		}
		return nil
	})
	leader := status.Groups[1].Leader
	to := c.others(c.node(leader))[0].id
	if got := strings.TrimSpace(string(ringraft.want(nil, "cluster", "transfer", "2", "--to", to))); got != to {
		t.Errorf("transfer printed %q, want %q", got, to)
	}
	eventually(t, "the status shows the new leader", func() error {
		if got := ringraft.status().Groups[1].Leader; got != to {
			return fmt.Errorf("it shows %q, want %q", got, to)
		}
		return nil
	})
	if _, messages, code := ringraft.run(nil, "cluster", "transfer", "2", "--to", "n9"); code == 0 || !strings.Contains(messages, "n9") {
		t.Errorf("transfer to nobody: exit code %d: %s", code, messages)
	}

	c.nodes[2].kill()
	eventually(t, "the status shows the node as down", func() error {
		if s := ringraft.status(); s.Nodes[2].State != "down" {
			return fmt.Errorf("it shows %+v", s.Nodes[2])
		}
		return nil
	})
}

// liveStatus is what cluster status promises to print.
type liveStatus struct {
	ClusterID string `json:"cluster_id"`
	Epoch     uint64
	Nodes     []struct{ ID, Native, Peer, State string }
	Groups    []struct {
		ID       uint64
		Leader   string
		Term     uint64
		Keys     *int64
		Bytes    *int64
		Sessions int64
		// SessionBytes is a part of Bytes.
		SessionBytes int64 `json:"session_bytes"`
		Replicas     []struct {
			Node, Role string
			Applied    *uint64
			Lag        *uint64
			MemoryUsed int64 `json:"memory_used"`
			MemoryHeld int64 `json:"memory_held"`
		}
	}
}

func (cl commandLine) status() liveStatus {
	cl.t.Helper()
	var s liveStatus
	decode(cl.t, cl.want(nil, "cluster", "status", "-o", "json"), &s)
	return s
}
