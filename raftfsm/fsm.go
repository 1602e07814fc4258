package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

// Config is what a state machine is made from. The zero value works.
type Config struct {
	// Group names the group in logs and errors.
	Group string
	// Settings hold until the log's first Configure; zero is op.DefaultMaxBytes. They
	// must be the same on all replicas.
	Settings op.GroupSettings
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// OnHalt is called once, from the goroutine that applies, when an entry cannot be
	// applied. The error has been logged.
	OnHalt func(error)
}

// FSM is a group's state machine. It implements [raft.BatchingFSM]; all other
// methods may be called from any goroutine.
type FSM struct {
	group  string
	logger *slog.Logger
	onHalt func(error)

	// Of the goroutine on which raft calls Apply, Snapshot and Restore.
	halted   error
	commands []op.Command // of the entry being applied; kept for its memory
	sets     []op.Set     // their operations that are one; kept for its memory

	applied atomic.Uint64 // stored under mu
	shown   atomic.Uint64 // stored under mu; over applied while an entry is being applied
	gates   gates
	views   sync.Pool // of *view; for their memory
	letIn   func()    // called, without mu, where an entry lets readers in; nil but in tests

	mu      sync.RWMutex // held for one turn of an entry, one read, or one piece of a snapshot
	state   *state
	mark    Mark // of the last entry that is whole
	history history
	// released is closed when a transaction next lets go of keys, and replaced.
	released chan struct{}
}

var _ raft.BatchingFSM = (*FSM)(nil)

// New returns an empty state machine.
func New(c Config) *FSM {
	if c.Settings.MaxBytes == 0 {
		c.Settings.MaxBytes = op.DefaultMaxBytes
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OnHalt == nil {
		c.OnHalt = func(error) {}
	}
	s := newState(c.Settings)
	return &FSM{
		group:  c.Group,
		logger: c.Logger.With("group", c.Group),
		onHalt: c.OnHalt,
		state:  s,
		mark:   Mark{Digest: s.digest()},
		views:  sync.Pool{New: func() any { return new(view) }},

		released: make(chan struct{}),
	}
}

// Apply applies one log; see ApplyBatch.
func (f *FSM) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies logs in their order. It answers an entry with []op.Result, one
// per command, without their Index, a configuration with nil, and any log with an error
// once the state machine has halted. Results may alias the logs' data.
func (f *FSM) ApplyBatch(logs []*raft.Log) []any {
	answers := make([]any, len(logs))
	for i, l := range logs {
		results, err := f.apply(l)
		switch {
		case err != nil:
			answers[i] = err
		case l.Type == raft.LogCommand:
			answers[i] = results
		}
	}
	return answers
}

func (f *FSM) apply(l *raft.Log) ([]op.Result, error) {
	if f.halted != nil {
		return nil, f.halted
	}
	entry, err := f.read(l)
	if err != nil {
		f.halt(l.Index, err)
		return nil, f.halted
	}
	f.mu.Lock()
	f.shown.Store(l.Index)
	results := f.state.apply(&entry, f.commands, f.turn)
	f.arrive(l.Index)
	f.mu.Unlock()
	f.gates.open(l.Index)
	clear(f.commands) // they alias the log's data
	clear(f.sets)     // these too
	return results, nil
}

// turn lets those in who wait for mu.
func (f *FSM) turn() {
	f.mu.Unlock()
	if f.letIn != nil {
		f.letIn()
	}
	f.mu.Lock()
}

// read decodes a log whole, before anything is applied, with its commands in
// f.commands. The entry of a log that is no command is empty.
func (f *FSM) read(l *raft.Log) (op.Entry, error) {
	f.commands, f.sets = f.commands[:0], f.sets[:0]
	if applied := f.applied.Load(); l.Index <= applied {
		return op.Entry{}, fmt.Errorf("it comes after index %d", applied)
	}
	if l.Type != raft.LogCommand {
		return op.Entry{}, nil
	}
	entry, err := op.DecodeEntry(l.Data)
	if err != nil {
		return op.Entry{}, err
	}
	entry.Sets = &f.sets
	for entry.Len() > 0 {
		c, err := entry.Next()
		if err != nil {
			return op.Entry{}, fmt.Errorf("command %d: %w", len(f.commands), err)
		}
		f.commands = append(f.commands, c)
	}
	return entry, nil
}

// arrive notes, under mu, that the state is the one at index.
func (f *FSM) arrive(index uint64) {
	if f.state.unlocked {
		f.state.unlocked = false
		close(f.released)
		f.released = make(chan struct{})
	}
	f.shown.Store(index)
	f.applied.Store(index)
	f.mark = Mark{Index: index, Digest: f.state.digest()}
	f.history.add(f.mark)
}

func (f *FSM) halt(index uint64, err error) {
	f.halted = fmt.Errorf("group %s halted: cannot apply the entry at index %d: %w", f.group, index, err)
	f.logger.Error("replica halted", "index", index, "err", err)
	f.gates.shut(f.halted)
	f.onHalt(f.halted)
}

// Applied returns the index of the last log applied, whole. Logs that raft keeps to
// itself, no-ops and barriers, are not counted.
func (f *FSM) Applied() uint64 { return f.applied.Load() }

// Shown returns the index of the last log of which a read may show something: Applied, or
// that of the entry being applied.
func (f *FSM) Shown() uint64 { return f.shown.Load() }

// Wait returns when Applied has reached index, with an error when ctx ends or the
// state machine halts before that. The index of a log that raft keeps to itself is
// reached with the next log behind it.
func (f *FSM) Wait(ctx context.Context, index uint64) error {
	if f.applied.Load() >= index {
		return nil
	}
	return f.gates.wait(ctx, index)
}

// Read answers o from the state as it is. It judges deadlines by the later of group
// time and clock, in ms since the Unix epoch. For each key it looks up that is old,
// and for which no hint was given lately, it calls hint, if that is not nil; hint
// runs under the read lock, so it must not block nor call f, and does not keep key.
// A scan's keys give no hints. The result's Index is Shown, so a state that has applied it
// shows no less. Its values are the caller's to keep, not to change.
func (f *FSM) Read(o op.Read, clock int64, hint func(key []byte)) op.Result {
	res, _ := f.ReadInto(nil, o, clock, hint)
	return res
}

// ReadInto is Read for callers who have memory for the values: it appends them to b, but
// for large ones, and returns b. They are good as long as b is.
func (f *FSM) ReadInto(b []byte, o op.Read, clock int64, hint func(key []byte)) (op.Result, []byte) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.readLocked(b, o, clock, hint)
}

func (f *FSM) readLocked(b []byte, o op.Read, clock int64, hint func(key []byte)) (op.Result, []byte) {
	v := f.views.Get().(*view)
	*v = view{state: f.state, now: f.nowLocked(clock), hint: hint}
	res := o.Read(v)
	*v = view{}
	f.views.Put(v)
	res.Index = f.shown.Load()
	(*values)(&b).ownAll(&res)
	return res, b
}

// nowLocked is the time of a read by a node's clock.
func (f *FSM) nowLocked(clock int64) int64 {
	if mutant.LocalClock {
		f.state.time = max(f.state.time, clock)
	}
	return max(f.state.time, clock)
}

// ReadWhole is Read for callers who must not see half of a transaction: where one is
// prepared that may change what o reads, there is no result, and released is closed when
// it is worth trying again.
func (f *FSM) ReadWhole(o op.Read, clock int64, hint func(key []byte)) (res op.Result, released <-chan struct{}) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.state.hides(o) {
		return op.Result{}, f.released
	}
	res, _ = f.readLocked(nil, o, clock, hint)
	return res, nil
}

// Mark returns the last index applied with the state's digest there.
func (f *FSM) Mark() Mark {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.mark
}

// DigestAt returns the digest that the state had at index. It knows the marks of
// the last historyLen indexes and none from before a restore.
func (f *FSM) DigestAt(index uint64) (digest uint64, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.history.at(index)
}

// Time returns the group time, in ms since the Unix epoch; 0 before the first entry.
func (f *FSM) Time() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.state.time
}

// Stats are a state machine's sizes and counts.
type Stats struct {
	Keys           int64  // records, with those past their deadline but not yet removed
	Sessions       int64  // with those that have ended but are not yet removed
	Transactions   int64  // parts and decisions, with those past their end but not yet removed
	Locks          int64  // keys that transactions have locked
	Bytes          int64  // logical, of records, see lru.Cost, sessions and transactions
	ProtectedBytes int64  // the part of Bytes that is never evicted: protected records, sessions, transactions
	SessionBytes   int64  // the part of ProtectedBytes that is sessions and their answers
	TxnBytes       int64  // the part of ProtectedBytes that is transactions, with the room for what they will write
	Evicted        uint64 // records that made room for others, since New
	Expired        uint64 // records removed past their deadline, since New
	MemoryUsed     int64  // bytes that the records take in memory, see lru.Footprint
	MemoryHeld     int64  // bytes of the memory that they lie in, with what is free there
	Settings       op.GroupSettings
}

// Stats returns the sizes and counts of this moment.
func (f *FSM) Stats() Stats {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s, footprint := f.state, f.state.cache.Footprint()
	return Stats{
		Keys:           int64(s.cache.Len()),
		Sessions:       int64(s.sessions.len()),
		Transactions:   int64(len(s.txns.byKey)),
		Locks:          int64(len(s.txns.locks)),
		Bytes:          s.bytes(),
		ProtectedBytes: s.fixed(),
		SessionBytes:   s.sessions.bytes,
		TxnBytes:       s.txns.bytes,
		Evicted:        s.counts.evicted,
		Expired:        s.counts.expired,
		MemoryUsed:     footprint.Used,
		MemoryHeld:     footprint.Held,
		Settings:       s.settings,
	}
}

// SweepDue reports whether a Sweep would remove something by the later of group time and clock, so that a leader should propose an op.Sweep.
func (f *FSM) SweepDue(clock int64) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	now := max(f.state.time, clock)
	if next, ok := f.state.cache.NextDeadline(); ok && past(next.Deadline, now) || f.state.overdue() {
		return true
	}
	if x, ok := f.state.sessions.next(); ok && x.deadline <= now {
		return true
	}
	r, ok := f.state.txns.next()
	return ok && r.ends() <= now
}

// Old reports whether a touch of key would move it.
func (f *FSM) Old(key []byte) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.state.cache.Old(op.SlotOf(key), key)
}

// Snapshot returns the state as it is now, for Persist to write while later logs are
// applied. It fails while another snapshot is not yet released, and on a halted
// state machine.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if f.halted != nil {
		return nil, f.halted
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.saving != nil {
		return nil, errors.New("another snapshot is still being written")
	}
	s := newSnapshot(&f.mu, f.state, f.applied.Load())
	f.state.saving = s
	return s, nil
}
