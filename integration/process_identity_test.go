package integration

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
)

// TestWipedNodeIsRefused empties a node's directory and starts it under its old id:
// it must not vote again, and the cluster goes on without it.
func TestWipedNodeIsRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	c.set("before", "1")
	wiped := c.nodes[2]
	wiped.stop()
	wiped.wipe()
	wiped.refuse("restore its directory")
	c.want("before", "1")
	c.set("after", "2")
	c.want("after", "2")
}

// TestWipedNodeDoesNotMakeAQuorum leaves acknowledged writes on one node that is
// down, while the other two are one that was away and one that was wiped. They must
// not elect a leader that never saw the writes.
func TestWipedNodeDoesNotMakeAQuorum(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	stays, wiped, away := c.nodes[0], c.nodes[1], c.nodes[2]
	away.kill()
	records := numbered(1000)
	c.startImport(records).finish()
	stays.kill()
	wiped.kill()

	wiped.wipe()
	away.start()
	wiped.refuse("restore its directory")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if v, err := c.client.Get(ctx, "key-0", client.At(client.Linearizable)); err == nil {
		t.Fatalf("one node of three answers: %q", v.Bytes)
	}
	if _, err := c.client.Set(ctx, "key-0", []byte("lost")); err == nil {
		t.Fatal("one node of three takes a write")
	}

	stays.start()
	c.waitReady()
	c.wantAll(records)
}

// numbered returns count records.
func numbered(count int) map[string][]byte {
	records := map[string][]byte{}
	for i := range count {
		records[fmt.Sprintf("key-%d", i)] = fmt.Appendf(nil, "value-%d", i)
	}
	return records
}

func (n *liveNode) wipe() {
	n.t.Helper()
	if err := os.RemoveAll(n.data); err != nil {
		n.t.Fatal(err)
	}
}

// TestNodeThatLostAReplicaIsRefused removes the log of one group by hand.
func TestNodeThatLostAReplicaIsRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	c.set("before", "1")
	robbed := c.nodes[1]
	robbed.stop()
	if err := os.RemoveAll(filepath.Join(robbed.data, "groups", "2.1")); err != nil {
		t.Fatal(err)
	}
	robbed.refuse("must not vote again")
	c.want("before", "1")
	c.set("after", "2")
}

// TestNodeWithoutAllOfItsLogIsRefused cuts a log that was written off in its middle,
// or takes all of it, as no crash does: what the node has acknowledged is gone.
func TestNodeWithoutAllOfItsLogIsRefused(t *testing.T) {
	t.Parallel()
	log, ok := map[string]struct{ segments, gone string }{
		"wal":    {filepath.Join("groups", "1.1", "log", "*.wal"), "must not vote again"},
		"shared": {filepath.Join("log", "*.seg"), "damaged"},
	}[cmp.Or(*logFlag, "shared")]
	if !ok {
		t.Skipf("a log of the kind %s has no segments", *logFlag)
	}
	c := startCluster(t, 3, "--groups", "1")
	records := numbered(1000)
	c.startImport(records).finish()
	robbed := c.nodes[1]
	robbed.stop()
	segments, err := filepath.Glob(filepath.Join(robbed.data, log.segments))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	truncate(t, segments[0], 20_000)
	robbed.refuse("damaged")
	for _, segment := range segments {
		remove(t, segment)
	}
	robbed.refuse(log.gone)
	c.wantAll(records)
}

// TestNodeOfAnotherClusterIsRefused starts new nodes that name one of a living
// cluster as their fellow, each in its own way.
func TestNodeOfAnotherClusterIsRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1")
	addresses := freeAddresses(t, 2)
	stranger := &liveNode{
		t: t, id: "n4", native: addresses[0], peer: addresses[1],
		data: filepath.Join(t.TempDir(), "n4"), log: filepath.Join(t.TempDir(), "n4.log"),
	}
	t.Cleanup(stranger.end)
	stranger.args = serverArgs(stranger, "n4="+stranger.peer+",n1="+c.nodes[0].peer)
	stranger.refuse("of which this node is no member")
	c.set("still", "here")
}

// TestBadDataDirectoriesAreRefused changes copies of a good directory.
func TestBadDataDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, "--groups", "1", "--replicas", "1")
	n := c.nodes[0]
	c.set("kept", "1")
	n.stop()
	for name, bad := range map[string]struct {
		change func(t *testing.T, dir string)
		flags  []string
		reason string
	}{
		"another id": {
			flags:  []string{"--id", "n2", "--init", "n2=" + n.peer},
			reason: "belongs to another node: n1",
		},
		"a newer format": {
			change: func(t *testing.T, dir string) {
				replaceIn(t, filepath.Join(dir, "identity.json"), `"format": 1`, `"format": 2`)
			},
			reason: "written in a newer format: 2, this program knows 1",
		},
		"half an identity": {
			change: func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "identity.json"), 20) },
			reason: "damaged",
		},
		"no identity": {
			change: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "identity.json")) },
			reason: "damaged: identity.json is missing",
		},
		"another incarnation": {
			change: func(t *testing.T, dir string) {
				replaceIn(t, filepath.Join(dir, "identity.json"), `"incarnation": "`, `"incarnation": "00`)
			},
			reason: "damaged",
		},
		"a damaged cluster map": {
			change: func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "cluster-map"), 30) },
			reason: "cluster-map: damaged",
		},
		"a replica's log without its stable store": {
			change: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "groups", "1.1", "stable.db")) },
			reason: "damaged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(n.data)); err != nil {
				t.Fatal(err)
			}
			if bad.change != nil {
				bad.change(t, dir)
			}
			copied := *n
			copied.t, copied.data, copied.log = t, dir, filepath.Join(t.TempDir(), "log")
			copied.args = append(serverArgs(&copied, "n1="+n.peer), bad.flags...)
			defer copied.end()
			copied.refuse(bad.reason)
			if said := copied.logText(); !strings.Contains(said, "data") {
				t.Errorf("said %q; want the directory's flag in it", said)
			}
		})
	}

	n.start()
	c.waitReady()
	c.want("kept", "1")
	second := *n
	second.native, second.peer = "127.0.0.1:0", "127.0.0.1:0"
	second.args = append(serverArgs(&second, "n1="+n.peer), "--advertise-native", n.native, "--advertise-peer", n.peer)
	second.refuse("locked by another process")
	c.want("kept", "1")
}

func replaceIn(t *testing.T, path, old, replacement string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), old) {
		t.Fatalf("%s: %v, %q not in it: %s", path, err, old, b)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
