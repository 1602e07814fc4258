package sharedlog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// writtenDisk returns a disk with a log of several segments, of which the oldest were
// given up, and what its two views hold. The newest segment has several flushes, the
// last of which stores the last entry of the second view, or gives segments up.
func writtenDisk(t rapid.TB) (*fakeDisk, state, state) {
	t.Helper()
	d := newFakeDisk(1)
	live := func(write func(l *Log) error) {
		l, err := open(d, Config{SegmentBytes: testSegment})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(l), l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	live(func(l *Log) (err error) {
		a, b := createView(t, l, ID{1, 1}), createView(t, l, ID{2, 1})
		for i := uint64(1); i <= 60 && err == nil; i++ {
			err = errors.Join(a.StoreLog(entry(i, 1, 300)), b.StoreLog(entry(i, 1, 60)))
			if i > 20 {
				err = errors.Join(err, a.DeleteRange(i-20, i-20), b.DeleteRange(i-20, i-20))
			}
		}
		return err
	})
	live(func(l *Log) error { // in a segment of its own
		b, err := l.View(ID{2, 1})
		for i := uint64(61); i <= 65 && err == nil; i++ {
			err = b.StoreLog(entry(i, 1, 60))
		}
		return err
	})
	return d, run(41, 60, 1, 300), run(41, 65, 1, 60)
}

// segments returns the names of the segments in use, in order.
func (d *fakeDisk) segments(t rapid.TB) []string {
	t.Helper()
	all, err := findSegments(d)
	if err != nil {
		t.Fatal(err)
	}
	used, err := linked(all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range used {
		names = append(names, segmentName(f.number))
	}
	return names
}

// TestDamageIsRefused: what is missing or was changed is refused by name.
func TestDamageIsRefused(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(d *fakeDisk, names []string) (named string){
		"the oldest segment is missing": func(d *fakeDisk, names []string) string {
			delete(d.names, names[0])
			return names[0]
		},
		"a segment in the middle is missing": func(d *fakeDisk, names []string) string {
			delete(d.names, names[1])
			return names[1]
		},
		"the newest segment is cut off": func(d *fakeDisk, names []string) string {
			f := d.names[names[len(names)-1]]
			f.current = f.current[:len(f.current)-1]
			return names[len(names)-1]
		},
		"an older segment is cut off": func(d *fakeDisk, names []string) string {
			d.names[names[0]].current = d.names[names[0]].current[:1000]
			return names[0]
		},
		"the header of an older segment": func(d *fakeDisk, names []string) string {
			d.names[names[1]].current[20] ^= 1
			return names[1]
		},
		"the header of the newest segment": func(d *fakeDisk, names []string) string {
			d.names[names[len(names)-1]].current[20] ^= 1
			return names[len(names)-1]
		},
		"an older segment in the place of another": func(d *fakeDisk, names []string) string {
			d.names[names[1]] = d.names[names[0]]
			return names[1]
		},
		"a format to come": func(d *fakeDisk, names []string) string {
			d.names[names[1]].current[len(segmentMagic)]++
			return names[1]
		},
		"the first flush of the newest segment": func(d *fakeDisk, names []string) string {
			d.names[names[len(names)-1]].current[segmentHead+flushHead+20] ^= 1
			return names[len(names)-1]
		},
		"the header of its first flush": func(d *fakeDisk, names []string) string {
			d.names[names[len(names)-1]].current[segmentHead] ^= 1
			return names[len(names)-1]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, _ := writtenDisk(t)
			names := d.segments(t)
			if len(names) < 3 {
				t.Fatalf("the log has segments %v, want 3 at least", names)
			}
			named := damage(d, names)
			l, err := open(d, Config{SegmentBytes: testSegment})
			if err == nil {
				l.Close()
				t.Fatal("the log was opened")
			}
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), named) {
				t.Errorf("err = %v; want %v, with %s", err, ErrCorrupt, named)
			}
		})
	}
}

// TestDamagedByteIsNeverReturned: with any byte of a segment changed, the log is
// refused, or lacks its last flush and nothing else.
func TestDamagedByteIsNeverReturned(t *testing.T) {
	t.Parallel()
	source, a, b := writtenDisk(t)
	names := source.segments(t)
	rapid.Check(t, func(t *rapid.T) {
		d := source.clone()
		name := rapid.SampledFrom(names).Draw(t, "segment")
		content := d.names[name].current
		at := rapid.IntRange(0, len(content)-1).Draw(t, "at")
		content[at] ^= rapid.Byte().Draw(t, "xor") | 1
		l, err := open(d, Config{SegmentBytes: testSegment})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("err = %v, want %v", err, ErrCorrupt)
			}
			return
		}
		defer l.Close()
		gotA, errA := readState(l, ID{1, 1})
		gotB, errB := readState(l, ID{2, 1})
		if errA != nil || errB != nil || !gotA.same(a) || !gotB.same(b) && !gotB.same(b[:len(b)-1]) {
			t.Fatalf("%s changed at %d: the views hold %v, %v and %v, %v", name, at, gotA, errA, gotB, errB)
		}
	})
}

// TestDamageWhileOpenIsReported: an entry that was changed after the log was opened is
// damage when it is read.
func TestDamageWhileOpenIsReported(t *testing.T) {
	t.Parallel()
	d, a, _ := writtenDisk(t)
	l := openLog(t, d)
	v, err := l.View(ID{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := v.at(a[3].Index)
	d.names[segmentName(p.segment)].current[p.off+p.size-1] ^= 1
	var got raft.Log
	if err := v.GetLog(a[3].Index, &got); !errors.Is(err, ErrCorrupt) {
		t.Errorf("err = %v, want %v", err, ErrCorrupt)
	}
	if err := v.GetLog(a[4].Index, &got); err != nil || !sameEntry(&got, a[4]) {
		t.Errorf("the entry beside it: %v", err)
	}
}

// clone returns a disk of its own with the same content, all of it synced.
func (d *fakeDisk) clone() *fakeDisk {
	c := newFakeDisk(1)
	for name, f := range d.names {
		c.names[name] = &fakeInode{current: slices.Clone(f.current), durable: slices.Clone(f.current)}
		c.durable[name] = c.names[name]
	}
	return c
}
