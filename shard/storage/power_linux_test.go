package storage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// powerDisk is a file system of its own, whose power can be cut. It lies in an image,
// which a loop device makes a disk.
type powerDisk struct {
	image string
	dir   string // where it is mounted
}

// newPowerDisk mounts one until the end of the test, which is skipped where that is not
// permitted.
func newPowerDisk(t *testing.T) powerDisk {
	t.Helper()
	for _, program := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	dir := unsyncedDir(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := powerDisk{image: filepath.Join(dir, "image"), dir: filepath.Join(dir, "disk")}
	write(t, d.image, "")
	if err := os.Truncate(d.image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	if err := os.Mkdir(d.dir, dirMode); err != nil {
		t.Fatal(err)
	}
	if err := d.mount(); err != nil {
		t.Skipf("needs the right to mount a loop device: %v", err)
	}
	t.Cleanup(func() { d.unmount(t) })
	return d
}

// mount has the file system write nothing by itself for an hour. The loop device goes
// when it is unmounted.
func (d powerDisk) mount() error {
	out, err := exec.Command("mount", "-o", "loop,commit=3600", d.image, d.dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	return nil
}

func (d powerDisk) unmount(t *testing.T) {
	t.Helper()
	if err := syscall.Unmount(d.dir, 0); err != nil {
		t.Errorf("unmount %s: %v", d.dir, err)
	}
}

// cut takes the power away: what was not synced is lost. Restore brings it back.
func (d powerDisk) cut(t *testing.T) {
	t.Helper()
	const shutdown = 0x8004587d // EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32)
	const noLogFlush = 2        // EXT4_GOING_FLAGS_NOLOGFLUSH
	f, err := os.Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush); err != nil {
		t.Fatalf("cut the power: %v", err)
	}
}

func (d powerDisk) restore(t *testing.T) {
	t.Helper()
	d.unmount(t)
	if err := d.mount(); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsAcknowledgedOutlivesThePower: after each kind of write the power is cut; all
// that was acknowledged is there, and so are files and directories newly made.
func TestWhatIsAcknowledgedOutlivesThePower(t *testing.T) {
	t.Parallel()
	disk := newPowerDisk(t)
	for _, kind := range LogKinds() { // one after the other, on the same disk
		t.Run(string(kind), func(t *testing.T) {
			cfg := testConfig()
			cfg.Log = kind
			var a acknowledged
			for _, write := range []struct {
				name string
				do   func(d *Dir, r *Replica) error
			}{
				{"a replica", func(d *Dir, _ *Replica) error { a.incarnation = d.Identity().Incarnation; return nil }},
				{"an entry", func(_ *Dir, r *Replica) error { a.first = 1; return a.store(r, 1) }},
				{"entries of many segments", func(_ *Dir, r *Replica) error { return a.store(r, 60) }},
				{"a snapshot", func(_ *Dir, r *Replica) error {
					a.snapshot = strings.Repeat("state", 10_000)
					saveSnapshot(t, r, 1000, 1, a.snapshot)
					return nil
				}},
				{"a term", func(_ *Dir, r *Replica) error {
					a.term = 7
					return r.Stable.SetUint64([]byte("CurrentTerm"), a.term)
				}},
				{"a log that moves on, in old files too", func(_ *Dir, r *Replica) (err error) {
					for a.last < 300 && err == nil {
						err = errors.Join(a.store(r, a.last+10), r.Logs.DeleteRange(a.first, a.last-20))
						a.first = a.last - 19
					}
					return err
				}},
				{"a log that was cut off at its end", func(_ *Dir, r *Replica) error {
					a.last = 290
					return r.Logs.DeleteRange(291, 300)
				}},
				{"entries behind that", func(_ *Dir, r *Replica) error { return a.store(r, 305) }},
				{"a cluster", func(d *Dir, _ *Replica) error {
					a.cluster = "c"
					return d.Form(a.cluster, map[string]string{"n1": a.incarnation})
				}},
				{"nothing", func(*Dir, *Replica) error { return nil }},
			} {
				t.Log("until the power is cut:", write.name)
				disk.live(t, cfg, &a, write.do)
			}
		})
	}
}

// live opens the directory, which must hold what was acknowledged, and cuts the power
// once do has returned.
func (d powerDisk) live(t *testing.T, cfg Config, a *acknowledged, do func(*Dir, *Replica) error) {
	t.Helper()
	path := filepath.Join(d.dir, string(cfg.Log))
	dir, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.restore(t)
	defer dir.Close() // fails without power
	if _, err := os.Stat(filepath.Join(path, groupsDir, "1.1")); a.incarnation != "" && err != nil {
		t.Fatal(err)
	}
	r := openReplica(t, dir)
	a.want(t, dir, r)
	if err := do(dir, r); err != nil {
		t.Fatal(err)
	}
	d.cut(t)
}

// acknowledged is what a directory and its replica must hold; zero values are none.
type acknowledged struct {
	incarnation, cluster string // of the node
	first, last          uint64 // of the log
	term                 uint64
	snapshot             string
}

// store stores entries up to an index, each with a write of its own.
func (a *acknowledged) store(r *Replica, to uint64) error {
	for ; a.last < to; a.last++ {
		if err := r.Logs.StoreLog(entry(a.last+1, 1, 700)); err != nil {
			return err
		}
	}
	return nil
}

func (a *acknowledged) want(t *testing.T, d *Dir, r *Replica) {
	t.Helper()
	if got := d.Identity(); a.incarnation != "" && got.Incarnation != a.incarnation || got.Cluster != a.cluster {
		t.Fatalf("node %s of cluster %q, want %s of %q", got.Incarnation, got.Cluster, a.incarnation, a.cluster)
	}
	wantRange(t, r.Logs, a.first, a.last)
	for i := a.first; i != 0 && i <= a.last; i++ {
		wantEntry(t, r.Logs, entry(i, 1, 700))
	}
	if got, err := r.Stable.GetUint64([]byte("CurrentTerm")); a.term != 0 && (err != nil || got != a.term) {
		t.Fatalf("term %d, %v; want %d", got, err, a.term)
	}
	if a.snapshot != "" {
		wantSnapshots(t, r, a.snapshot)
	}
}
