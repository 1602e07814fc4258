package shard

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// aheadLog is a log whose disk, and whose place in the group, a test decides on.
type aheadLog struct {
	*aheadLogs
	disk   testDisk
	stored *raft.InmemStore
	leader bool
	alarms atomic.Int32
}

func (l *aheadLog) writes() error { return l.disk.write("log") }

func newAheadLog() *aheadLog {
	l := &aheadLog{stored: raft.NewInmemStore()}
	l.aheadLogs = newAheadLogs(&tailLogs{LogStore: gapLogs{diskLogs{l.stored, l.writes}}},
		func() bool { return l.leader }, func() { l.alarms.Add(1) })
	return l
}

// diskLogs calls writes before each append.
type diskLogs struct {
	raft.LogStore
	writes func() error
}

func (l diskLogs) StoreLogs(entries []*raft.Log) error {
	if err := l.writes(); err != nil {
		return err
	}
	return l.LogStore.StoreLogs(entries)
}

func (l *aheadLog) store(t interface{ Fatalf(string, ...any) }, entries ...*raft.Log) {
	if err := l.StoreLogs(entries); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func TestLeadersEntriesAreShownBeforeTheyAreOnDisk(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newAheadLog()
		defer l.wait()
		defer l.close()
		l.store(t, termed(1, 2, 1)...)
		works := make(chan struct{})
		l.disk.onLog(func() error { <-works; return nil })
		l.leader = true
		l.store(t, termed(3, 3, 1)...)
		l.store(t, termed(4, 5, 1)...)
		if got := fmt.Sprint(terms(t, l)); got != "[1:1 2:1 3:1 4:1 5:1]" {
			t.Errorf("the log is %s", got)
		}
		if durable := l.durable(); durable != 2 {
			t.Errorf("on disk up to %d, want 2", durable)
		}
		var waited atomic.Bool
		go func() { waited.Store(l.onDisk(5)) }()
		if !l.onDisk(2) {
			t.Error("an entry on disk had to be waited for")
		}
		synctest.Wait()
		if waited.Load() {
			t.Error("an entry was called on disk while the disk hung")
		}
		close(works)
		synctest.Wait()
		if last, _ := l.stored.LastIndex(); !waited.Load() || last != 5 {
			t.Errorf("the disk has entries up to %d, want 5; noticed: %v", last, waited.Load())
		}
	})
}

// TestWhatElseIsStoredWaitsForTheDisk, behind all that was taken before.
func TestWhatElseIsStoredWaitsForTheDisk(t *testing.T) {
	configuration := termed(4, 4, 1)
	configuration[0].Type = raft.LogConfiguration
	for name, tc := range map[string]struct {
		leader  bool
		entries []*raft.Log
		remove  bool
		want    string
	}{
		"a follower's entry":       {false, termed(4, 4, 2), false, "[1:1 2:1 3:1 4:2]"},
		"a change of members":      {true, configuration, false, "[1:1 2:1 3:1 4:1]"},
		"a follower's replacement": {false, termed(3, 3, 2), true, "[1:1 2:1 3:2]"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := newAheadLog()
				defer l.wait()
				defer l.close()
				l.store(t, termed(1, 2, 1)...)
				l.leader = true
				works := make(chan struct{})
				l.disk.onLog(func() error { <-works; return nil })
				l.store(t, termed(3, 3, 1)...)
				l.leader = tc.leader
				var done atomic.Bool
				go func() {
					if tc.remove {
						if err := l.DeleteRange(3, 3); err != nil {
							t.Error(err)
						}
					}
					l.store(t, tc.entries...)
					done.Store(true)
				}()
				synctest.Wait()
				if done.Load() {
					t.Error("it did not wait for the disk")
				}
				close(works)
				synctest.Wait()
				if got := fmt.Sprint(terms(t, l.stored)); got != tc.want || !done.Load() {
					t.Errorf("the disk has %s, want %s; done: %v", got, tc.want, done.Load())
				}
			})
		})
	}
}

func TestLeadersEntriesThatCannotBeWritten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newAheadLog()
		defer l.wait()
		defer l.close()
		l.store(t, termed(1, 2, 1)...)
		l.leader = true
		l.disk.onLog(func() error { return errors.New("no space left on device") })
		l.store(t, termed(3, 3, 1)...)
		synctest.Wait()
		if l.alarms.Load() == 0 {
			t.Error("nobody was told")
		}
		if err := l.StoreLogs(termed(4, 4, 1)); err == nil {
			t.Error("another entry was taken")
		}
		time.Sleep(10 * aheadRetry)
		if got := fmt.Sprint(terms(t, l)); got != "[1:1 2:1 3:1]" || l.durable() != 2 {
			t.Errorf("the log is %s, on disk up to %d", got, l.durable())
		}
		if err := l.DeleteRange(3, 3); err == nil {
			t.Error("an entry was removed that a full disk does not have")
		}
		l.disk.onLog(nil)
		if !l.onDisk(3) { // it is tried again
			t.Error("the disk works, and the entry is not on it")
		}
		l.store(t, termed(4, 4, 1)...)
		if !l.onDisk(4) {
			t.Error("the disk works, and the next entry is not on it")
		}
		if got := fmt.Sprint(terms(t, l.stored)); got != "[1:1 2:1 3:1 4:1]" {
			t.Errorf("the disk has %s", got)
		}
	})
}

func TestClosedLogLetsNobodyWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newAheadLog()
		l.leader = true
		l.disk.onLog(func() error { return errors.New("input/output error") })
		l.store(t, termed(1, 1, 1)...)
		on := make(chan bool, 1)
		go func() { on <- l.onDisk(1) }()
		synctest.Wait()
		l.close()
		if <-on {
			t.Error("an entry that could not be written is called on disk")
		}
	})
}

// TestLogAheadOfItsDisk: whatever fails and whoever leads, the log shown is the one that
// Raft believes in, and the disk has a beginning of it, up to where it is called durable.
func TestLogAheadOfItsDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newAheadLog()
		defer l.wait()
		defer l.close()
		var want []*raft.Log
		for term := uint64(1); term < 30; term++ {
			first, last := uint64(1), uint64(0)
			if len(want) > 0 {
				first, last = want[0].Index, want[len(want)-1].Index
			}
			l.disk.onLog(nil)
			if rapid.IntRange(0, 3).Draw(t, "disk") == 0 {
				l.disk.onLog(func() error { return errors.New("input/output error") })
			}
			l.leader = rapid.Bool().Draw(t, "leader")
			from := last + 1
			if !l.leader && len(want) > 1 {
				from = rapid.Uint64Range(first+1, last+1).Draw(t, "from")
			}
			if from <= last {
				if err := l.DeleteRange(from, last); err != nil {
					continue // Raft goes on with all of them
				}
			}
			entries := termed(from, from+rapid.Uint64Range(0, 4).Draw(t, "more"), term)
			if err := l.StoreLogs(entries); err == nil {
				want = append(want[:from-first:from-first], entries...)
			}
			var list []string
			for _, entry := range want {
				list = append(list, fmt.Sprintf("%d:%d", entry.Index, entry.Term))
			}
			if got := terms(t, l); fmt.Sprint(got) != fmt.Sprint(list) {
				t.Fatalf("the log is %v, want %v", got, list)
			}
			durable := min(l.durable(), uint64(len(list)))
			for i := range durable {
				var entry raft.Log
				if err := l.stored.GetLog(i+1, &entry); err != nil || entry.Term != want[i].Term {
					t.Fatalf("the disk has %+v, %v; want the first %d of %v", entry, err, durable, list)
				}
			}
		}
	})
}

// TestEntryOnTwoDisksOfThreeIsAcknowledgedNotBefore: the leader's disk hangs, and one of two
// followers has its entry. If the leader crashed now, the group could go on without it.
func TestEntryOnTwoDisksOfThreeIsAcknowledgedNotBefore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		leader, followers := g.leader()
		name := nodeOf(leader.id)
		g.fabric.Cut(name, nodeOf(followers[1].id))
		works := make(chan struct{})
		g.disks[name].onLog(func() error { <-works; return nil })
		first := leader.raft.Apply(op.EncodeDetail(metaCommand{}), 0)
		var acknowledged atomic.Bool
		go func() {
			if err := first.Error(); err != nil {
				t.Error(err)
			}
			acknowledged.Store(true)
		}()
		time.Sleep(100 * time.Millisecond)
		leader.raft.Apply(op.EncodeDetail(metaCommand{}), 0) // its append says what is committed
		time.Sleep(100 * time.Millisecond)
		if last := followers[0].raft.LastIndex(); last != leader.raft.LastIndex() {
			t.Fatalf("the follower has entries up to %d, the leader up to %d", last, leader.raft.LastIndex())
		}
		time.Sleep(time.Second)
		if acknowledged.Load() || leader.machine.Applied() >= first.Index() {
			t.Error("an entry was applied that is on one disk of three")
		}
		if commit := followers[0].raft.CommitIndex(); commit >= first.Index() {
			t.Errorf("a follower takes entry %d for committed, which is on one disk of three: %d", first.Index(), commit)
		}
		close(works)
		time.Sleep(100 * time.Millisecond)
		if !acknowledged.Load() || followers[0].machine.Applied() < first.Index() {
			t.Error("an entry was not applied that is on two disks of three")
		}
	})
}

// TestLeaderWhoseDiskIsFullGivesWay, though it is given nothing more to store.
func TestLeaderWhoseDiskIsFullGivesWay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		leader, _ := g.leader()
		g.disks[nodeOf(leader.id)].onLog(func() error { return errors.New("no space left on device") })
		entry := leader.raft.Apply(op.EncodeDetail(metaCommand{}), 0)
		if err := entry.Error(); !errors.Is(err, raft.ErrLeadershipLost) {
			t.Errorf("its write ended with %v, want that its office was lost", err)
		}
		time.Sleep(10 * time.Second)
		if leader.readyTerm() != 0 {
			t.Fatal("it leads again")
		}
		next, _ := g.leader()
		g.disks[nodeOf(leader.id)].onLog(nil)
		done := next.raft.Apply(op.EncodeDetail(metaCommand{}), 0)
		if err := done.Error(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if leader.machine.Applied() != done.Index() {
			t.Errorf("its disk works again, and it has applied %d of %d", leader.machine.Applied(), done.Index())
		}
	})
}
