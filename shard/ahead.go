package shard

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/mutant"
)

// aheadLogs lets a leader's disk write while its followers' do. Raft tells followers of
// entries once its own log has stored them, so the two writes would come one after the
// other. Therefore the log takes a leader's commands as a tail, which it shows and writes, and
// lets Raft go on. Raft then counts entries as stored here that may not be on disk yet, and may
// find them committed. So until they are on disk
//
//   - the state machine does not apply them, see onDisk, and
//   - followers are not told that they are committed, see onDiskTransport.
//
// Nothing else follows from a command's commit. Until then they are what a
// leader's entries are that no quorum has: if it crashes, it may never have had them. If it
// does not, it votes, and answers a later leader, as one that has them; that leader commits
// nothing without an entry of its own term, which is stored behind the tail, as always.
type aheadLogs struct {
	*tailLogs
	leads func() bool // whether Raft's main loop, which asks, is a leader's
	alarm func()      // told when what was taken could not be written

	wg sync.WaitGroup // writers

	mu      sync.Mutex
	changed *sync.Cond // the tail has become shorter, or writing or closed has changed
	ahead   bool       // the tail is what is to be written; if not, it is what is left of a removal
	busy    bool       // there is a writer of it, who ends with it
	failed  bool       // to write it has failed, and not succeeded since
	retries bool       // it will be tried again, after a while
	writing bool       // somebody writes at the log's end
	closed  bool
}

// aheadRetry is after what time a tail that could not be written is tried again.
const aheadRetry = time.Second

func newAheadLogs(logs *tailLogs, leads func() bool, alarm func()) *aheadLogs {
	l := &aheadLogs{tailLogs: logs, leads: leads, alarm: alarm}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// StoreLog stores one entry as StoreLogs does.
func (l *aheadLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs takes a leader's commands at once. For all else it returns when it is on disk.
func (l *aheadLogs) StoreLogs(entries []*raft.Log) error {
	if l.leads() && !slices.ContainsFunc(entries, isNoCommand) && l.take(entries) {
		return nil
	}
	l.beginWrite()
	defer l.endWrite()
	err := l.tailLogs.StoreLogs(entries)
	if err == nil {
		l.written(entries[len(entries)-1].Index)
	}
	return err
}

// beginWrite waits until nobody writes at the log's end, endWrite lets others.
func (l *aheadLogs) beginWrite() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		l.changed.Wait()
	}
	l.writing = true
}

func (l *aheadLogs) endWrite() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	l.changed.Broadcast()
}

func isNoCommand(entry *raft.Log) bool { return entry.Type != raft.LogCommand }

// take puts entries behind the tail, unless that could not be written.
func (l *aheadLogs) take(entries []*raft.Log) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, t := l.tail.Load(), l.shown()
	if l.failed || l.closed || t != nil && !l.ahead || !t.leadsTo(entries) {
		return false
	}
	if !l.show(before, slices.Concat(t, entries)) {
		return false
	}
	l.ahead = true
	l.startLocked()
	return true
}

func (l *aheadLogs) startLocked() {
	if l.ahead && !l.busy && !l.closed {
		l.busy = true
		l.wg.Go(l.write)
	}
}

// write writes what is taken until all is on disk, or that fails.
func (l *aheadLogs) write() {
	for l.goesOn(l.writeTail()) {
	}
}

// writeTail writes what is taken.
func (l *aheadLogs) writeTail() error {
	l.beginWrite()
	defer l.endWrite()
	t := l.taken()
	if t == nil {
		return nil
	}
	if err := l.LogStore.StoreLogs(t); err != nil {
		l.fail()
		return err
	}
	l.written(t[len(t)-1].Index)
	return nil
}

// taken returns the tail if it is to be written.
func (l *aheadLogs) taken() tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ahead {
		return nil
	}
	return l.shown()
}

// goesOn reports whether a writer, whose last write ended so, should go on. If not, it ends.
func (l *aheadLogs) goesOn(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = err == nil && l.ahead && !l.closed
	return l.busy
}

// written notes that entries are on disk up to an index.
func (l *aheadLogs) written(index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(index)
	l.ahead, l.failed = l.shown() != nil, false
	l.changed.Broadcast()
}

// fail has the tail tried again after a while.
func (l *aheadLogs) fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failed {
		l.failed = true
		l.alarm()
	}
	if !l.retries {
		l.retries = true
		time.AfterFunc(aheadRetry, l.retry)
	}
}

func (l *aheadLogs) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries = false
	l.startLocked()
}

// fails reports whether the tail could not be written, and still is not.
func (l *aheadLogs) fails() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// DeleteRange removes entries as tailLogs does; those that were taken are written before.
func (l *aheadLogs) DeleteRange(from, to uint64) error {
	if t := l.taken(); t != nil && t[0].Index <= to {
		if err := l.writeTail(); err != nil {
			return err
		}
	}
	return l.tailLogs.DeleteRange(from, to)
}

// onDisk returns once all entries up to an index, which the log shows, are on disk. It
// reports false if that cannot be waited for, since the log is closed.
func (l *aheadLogs) onDisk(index uint64) bool {
	if l.durable() >= index || mutant.ApplyBeforeDisk {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && l.durable() < index {
		l.changed.Wait()
	}
	return !l.closed
}

// durable returns up to which index entries that the log shows are on disk.
func (l *aheadLogs) durable() uint64 {
	if t := l.shown(); t != nil {
		return t[0].Index - 1
	}
	return math.MaxUint64
}

// close lets nobody wait for the disk any more. Wait returns when nothing is being written.
func (l *aheadLogs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

func (l *aheadLogs) wait() { l.wg.Wait() }

// onDiskTransport tells followers no more of what is committed than what is on disk here. They
// would apply an entry that this replica, if it crashes, may never have had.
type onDiskTransport struct {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
	logs *aheadLogs
}

// newOnDiskTransport wraps a transport that can do what those of raft can.
func newOnDiskTransport(t raft.Transport, logs *aheadLogs) onDiskTransport {
	return onDiskTransport{t, t.(raft.WithPreVote), t.(raft.WithClose), logs}
}

// AppendEntries sends a request of Raft.
func (t onDiskTransport) AppendEntries(id raft.ServerID, addr raft.ServerAddress, request *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) error {
	if !mutant.TellBeforeDisk {
		request.LeaderCommitIndex = min(request.LeaderCommitIndex, t.logs.durable())
	}
	return t.Transport.AppendEntries(id, addr, request, answer)
}

// AppendEntriesPipeline is refused, since a pipeline would go round AppendEntries.
func (t onDiskTransport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// onDiskSnapshots takes no snapshot while the log takes nothing. Raft's main loop would wait
// for the state machine to restore it, and that for the log.
type onDiskSnapshots struct {
	raft.SnapshotStore
	logs *aheadLogs
}

var errLogFails = errors.New("the log takes nothing")

// Create begins a snapshot, one of this replica's own or one that a leader sends.
func (s onDiskSnapshots) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration, membersIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	if s.logs.fails() {
		return nil, errLogFails
	}
	return s.SnapshotStore.Create(version, index, term, members, membersIndex, t)
}
