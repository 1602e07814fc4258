package sharedlog

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

// slowDisk is a disk whose syncs of files take a second each.
type slowDisk struct {
	*fakeDisk
	mu    sync.Mutex
	syncs int
}

type slowFile struct {
	file
	disk *slowDisk
}

func (d *slowDisk) create(name string) (file, error) {
	f, err := d.fakeDisk.create(name)
	return slowFile{f, d}, err
}

func (d *slowDisk) open(name string) (file, error) {
	f, err := d.fakeDisk.open(name)
	return slowFile{f, d}, err
}

func (f slowFile) sync() error {
	f.disk.mu.Lock()
	f.disk.syncs++
	f.disk.mu.Unlock()
	time.Sleep(time.Second)
	return f.file.sync()
}

// TestWaitingAppendsShareASync: while one flush is under way, the appends of all
// replicas gather, and go to disk with the next.
func TestWaitingAppendsShareASync(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		d := &slowDisk{fakeDisk: newFakeDisk(1)}
		l, err := open(d, Config{SegmentBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var views []*View
		for g := range uint64(16) {
			views = append(views, createView(t, l, ID{g, 1}))
		}
		time.Sleep(time.Minute) // for the next segment
		before := d.syncs
		var wg sync.WaitGroup
		for _, v := range views {
			wg.Go(func() {
				for i := uint64(1); i <= 10; i++ {
					if err := v.StoreLog(entry(i, 1, 100)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := d.syncs - before; got < 10 || got > 20 { // two flushes may take turns
			t.Errorf("%d syncs for 10 appends by each of 16 replicas; want 10 to 20", got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestPendingIsBounded: behind a disk that hangs, no more gathers than the bound and
// what began below it.
func TestPendingIsBounded(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		d := &slowDisk{fakeDisk: newFakeDisk(1)}
		l, err := open(d, Config{SegmentBytes: testSegment})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range uint64(50) {
			v := createView(t, l, ID{g, 1})
			wg.Go(func() {
				if err := v.StoreLogs(run(1, 10, 1, 300)); err != nil {
					t.Error(err)
				}
			})
		}
		most := 0
		for range 100 {
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			l.mu.Lock()
			most = max(most, len(l.pending.buf))
			l.mu.Unlock()
		}
		wg.Wait()
		if bound := 2*l.limit + flushHead; most < l.limit || most > bound {
			t.Errorf("%d bytes were pending at most; want at least the limit of %d, and no more than %d", most, l.limit, bound)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFaultFailsThoseWhoWaitAndNobodyElse: a flush that fails is told to all that it
// holds; what is stored afterwards succeeds without a restart, and outlives one.
func TestFaultFailsThoseWhoWaitAndNobodyElse(t *testing.T) {
	t.Parallel()
	for i, step := range []string{"write", "sync"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				d := newFakeDisk(1)
				l := openLog(t, d)
				a, b := createView(t, l, ID{1, 1}), createView(t, l, ID{2, 1})
				store(t, a, run(1, 2, 1, 100)...)
				for range 3 {
					synctest.Wait() // so that the next steps are those of a
					d.failAt, d.failFor = d.steps+1+i, 1
					if err := a.StoreLogs(run(3, 3, 1, 100)); !errors.Is(err, errFault) || !strings.Contains(err.Error(), step) {
						t.Fatalf("err = %v, want the %s that failed", err, step)
					}
					want(t, l, a.id, run(1, 2, 1, 100))
					store(t, b, run(1, 1, 1, 100)...)
					if err := b.DeleteRange(1, 1); err != nil {
						t.Fatal(err)
					}
				}
				store(t, a, run(3, 3, 2, 100)...)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = openLog(t, d.restart())
				want(t, l, a.id, append(run(1, 2, 1, 100), run(3, 3, 2, 100)...))
				want(t, l, b.id, state{})
			})
		})
	}
}
