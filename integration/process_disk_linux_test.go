package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringraft/ringraft/client"
)

const ballastFile = "ballast"

// mountDisk gives the node, before its first start, a disk of that many MiB of its
// own. The test is skipped where that is not permitted.
func (n *liveNode) mountDisk(mib int) {
	n.t.Helper()
	if err := os.MkdirAll(n.data, 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", n.data, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", mib)); err != nil {
		n.t.Skipf("needs the right to mount a small file system: %v", err)
	}
	n.t.Cleanup(func() {
		n.end()
		if err := syscall.Unmount(n.data, 0); err != nil {
			n.t.Errorf("unmount %s: %v", n.data, err)
		}
	})
}

// fillDisk leaves about that many MiB of the node's disk free.
func (n *liveNode) fillDisk(mib int64) {
	n.t.Helper()
	f, err := os.OpenFile(filepath.Join(n.data, ballastFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); n.freeSpace() > mib<<20; {
		if _, err := f.Write(block); err != nil {
			n.t.Fatal(err)
		}
	}
}

// freeSpace returns the bytes free on the node's disk.
func (n *liveNode) freeSpace() int64 {
	n.t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(n.data, &fs); err != nil {
		n.t.Fatal(err)
	}
	return int64(fs.Bavail) * fs.Bsize
}

func (n *liveNode) freeDisk() {
	n.t.Helper()
	if err := os.Remove(filepath.Join(n.data, ballastFile)); err != nil {
		n.t.Fatal(err)
	}
}

// TestFullDisksRefuseWritesAndServeReads leaves less than --min-free on every disk.
func TestFullDisksRefuseWritesAndServeReads(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "--groups", "1", "--min-free", "16MiB")
	for _, n := range c.nodes {
		n.mountDisk(128)
		n.start()
	}
	c.connect()
	records := numbered(100)
	c.startImport(records).finish()
	for _, n := range c.nodes {
		n.fillDisk(8)
	}
	c.waitDiskFull("probe")
	c.waitDiskFull("refused")
	c.wantAll(records)
	for _, n := range c.nodes {
		c.wantAllOn(n, records)
		n.freeDisk()
	}
	if err := c.setUntilDone(t.Context(), "taken", []byte("v")); err != nil {
		t.Fatal(err)
	}
	c.want("taken", "v")
	if _, err := c.client.Get(t.Context(), "refused"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a refused write: %v, want %v", err, client.ErrNotFound)
	}
	c.wantAll(records)
	wantEqualDigests(t, c.waitCaughtUp())
}

// waitDiskFull returns once a write of key is refused for want of room. The last of
// the client's own tries may have no time for an answer: then there is another.
func (c *liveCluster) waitDiskFull(key string) {
	c.t.Helper()
	eventually(c.t, "a write is refused", func() error {
		err := c.setOnce(c.t.Context(), key, []byte("v"))
		if !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "disk full") {
			return fmt.Errorf("got %v, want disk full", err)
		}
		return nil
	})
}

// TestWritesMoveAwayFromAFullDisk leaves less than --min-free on the disk of the
// leader alone: another node takes the writes over, and callers do not notice.
func TestWritesMoveAwayFromAFullDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "--groups", "1", "--min-free", "16MiB")
	for _, n := range c.nodes {
		n.mountDisk(128)
		n.start()
	}
	c.connect()
	c.waitCaughtUp()
	full := c.leader(1)
	full.fillDisk(8)
	eventually(t, "another node leads", func() error {
		c.set("during", "1")
		if c.leader(1) == full {
			return errors.New(full.id + " still leads")
		}
		return nil
	})
	c.want("during", "1")
	full.freeDisk()
	c.set("after", "2")
	c.waitCaughtUp()
}

// TestLogWithoutRoom lets the disk of one node run so full, unforeseen, that its log
// cannot take what it must. No write that was acknowledged is lost, the others go on,
// and the node does too once there is room.
func TestLogWithoutRoom(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("under the race detector three nodes that share two cores may take minutes to fill a log")
	}
	for _, role := range []string{"leader", "follower"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3, "--groups", "1", "--min-free", "1")
			for _, n := range c.nodes {
				n.mountDisk(128)
				n.start()
			}
			c.connect()
			c.waitCaughtUp()
			full := c.leader(1)
			if role == "follower" {
				full = c.others(full)[0]
			}
			before := large(0, 50)
			c.startImport(before).finish()
			full.fillDisk(8) // of which a log's next file needs 16, and has it at most once already
			during := large(50, 750)
			c.startImport(during).finish()
			eventually(t, "writes to its log fail for want of room", func() error {
				if text := full.logText(); !strings.Contains(text, "writes fail") || !strings.Contains(text, "no space left on device") {
					return errors.New(full.id + " says nothing of it")
				}
				return nil
			})
			c.wantAll(before)
			c.wantAll(during)
			full.freeDisk()
			if !full.running() {
				t.Errorf("%s has ended with exit code %d", full.id, full.exit)
				full.start()
			}
			after := large(750, 800)
			c.startImport(after).finish()
			wantEqualDigests(t, c.waitCaughtUp())
			for _, records := range []map[string][]byte{before, during, after} {
				c.wantAll(records)
				c.wantAllOn(full, records)
			}
		})
	}
}

// large returns the records from first to last, of 64 KiB each.
func large(first, last int) map[string][]byte {
	records := map[string][]byte{}
	for i := first; i < last; i++ {
		records[fmt.Sprintf("large-%d", i)] = bytes.Repeat([]byte{byte(i)}, 64<<10)
	}
	return records
}
