package sharedlog

import (
	"testing"
	"testing/synctest"

	"github.com/ringraft/ringraft/internal/bubble"
)

// TestIdleViewsDoNotPinTheDisk: while one replica writes on and on, others that hold a
// few old entries, or lag behind with many, keep the log as small as [Config] says.
func TestIdleViewsDoNotPinTheDisk(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		d := newFakeDisk(1)
		l := openLog(t, d)
		idle, lagging, busy := createView(t, l, ID{1, 1}), createView(t, l, ID{2, 1}), createView(t, l, ID{3, 1})
		store(t, idle, run(1, 3, 1, 100)...)
		store(t, lagging, run(1, 40, 1, 500)...)
		const kept = 10
		for i := uint64(1); i <= 2000; i++ {
			store(t, busy, entry(i, 1, 200))
			if i > kept {
				if err := busy.DeleteRange(i-kept, i-kept); err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		live := int64(40*(500+60) + (kept+4)*(200+60))
		if got, most := d.bytes(), 2*live+8*testSegment; got > most {
			t.Errorf("the log takes %d bytes for %d that are needed, want %d at most", got, live, most)
		}
		l = openLog(t, d)
		want(t, l, idle.id, run(1, 3, 1, 100))
		want(t, l, lagging.id, run(1, 40, 1, 500))
		want(t, l, busy.id, run(2001-kept, 2000, 1, 200))
	})
}

// TestEmptyViewsNeedNothing: once all that was stored is deleted, the log goes on in
// the files that it has.
func TestEmptyViewsNeedNothing(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		d := newFakeDisk(1)
		l := openLog(t, d)
		v := createView(t, l, ID{1, 1})
		for i := uint64(1); i <= 500; i++ {
			store(t, v, entry(i, 1, 500))
			if err := v.DeleteRange(i, i); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got, most := d.bytes(), int64(8*testSegment); got > most {
			t.Errorf("an empty log takes %d bytes, want %d at most", got, most)
		}
		want(t, openLog(t, d), v.id, state{})
	})
}

// TestReopeningOverAndOver: each life of a process begins a segment, but they do not
// pile up.
func TestReopeningOverAndOver(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		d := newFakeDisk(1)
		for i := uint64(1); i <= 100; i++ {
			l, err := open(d, Config{SegmentBytes: testSegment})
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				createView(t, l, ID{1, 1})
			}
			v, err := l.View(ID{1, 1})
			if err != nil {
				t.Fatal(err)
			}
			store(t, v, entry(i, 1, 10))
			want(t, l, v.id, run(1, i, 1, 10))
			synctest.Wait()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got, most := d.bytes(), int64(2*100*60+8*testSegment); got > most {
			t.Errorf("the log takes %d bytes, want %d at most", got, most)
		}
	})
}
