package shard

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// tailLogs makes the removal of a log's tail a part of the next append. Where a
// follower's entries conflict with the leader's, Raft removes them, and then stores what
// belongs in their place. If that fails, as on a disk that is full or broken for a
// moment, Raft goes on believing that they are there. It then never finds the place where
// the logs agree, and is sent one snapshot after the other, in vain and without a pause.
// So the tail is shown until something else is stored.
//
// Raft's main loop alone appends and removes at the end. Entries are read, and removed
// at the beginning, meanwhile: nobody waits for a write. See aheadLogs for who else writes.
type tailLogs struct {
	raft.LogStore
	tail atomic.Pointer[tail]
}

// tail is entries without a gap that are shown behind the store, which does not have them:
// they were removed, or aheadLogs has yet to write them.
// It never changes; nil is none.
type tail []*raft.Log

// shown returns the tail, which is nil or not empty.
func (l *tailLogs) shown() tail {
	if t := l.tail.Load(); t != nil {
		return *t
	}
	return nil
}

// show replaces the tail old, unless it has been replaced meanwhile.
func (l *tailLogs) show(old *tail, next tail) bool {
	if len(next) == 0 {
		return l.tail.CompareAndSwap(old, nil)
	}
	return l.tail.CompareAndSwap(old, &next)
}

// FirstIndex returns the first index shown, 0 for none.
func (l *tailLogs) FirstIndex() (uint64, error) {
	t := l.shown()
	first, err := l.LogStore.FirstIndex()
	if first == 0 && t != nil {
		first = t[0].Index
	}
	return first, err
}

// LastIndex returns the last index shown, 0 for none.
func (l *tailLogs) LastIndex() (uint64, error) {
	if t := l.shown(); t != nil {
		return t[len(t)-1].Index, nil
	}
	return l.LogStore.LastIndex()
}

// GetLog reads an entry that is shown.
func (l *tailLogs) GetLog(index uint64, out *raft.Log) error {
	t := l.shown()
	if t == nil || index < t[0].Index {
		return l.LogStore.GetLog(index, out)
	}
	i := index - t[0].Index
	if i >= uint64(len(t)) {
		return raft.ErrLogNotFound
	}
	*out = *t[i]
	return nil
}

// StoreLog stores one entry as StoreLogs does.
func (l *tailLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs stores entries, after those of the tail that lead up to the first.
func (l *tailLogs) StoreLogs(entries []*raft.Log) error {
	if t := l.shown(); t != nil && len(entries) > 0 {
		entries = slices.Concat(t.before(entries[0].Index), entries)
	}
	err := l.LogStore.StoreLogs(entries)
	if err == nil {
		l.tail.Store(nil)
	}
	return err
}

// before returns the entries that lead up to index. There are none if they end before.
func (t tail) before(index uint64) tail {
	n, found := slices.BinarySearchFunc(t, index-1, func(entry *raft.Log, index uint64) int {
		return cmp.Compare(entry.Index, index)
	})
	if !found {
		return nil
	}
	return t[:n+1]
}

// leadsTo reports whether entries follow the tail, if there is one.
func (t tail) leadsTo(entries []*raft.Log) bool {
	return len(t) == 0 || entries[0].Index == t[len(t)-1].Index+1
}

// DeleteRange removes entries; those at the end are shown until the next append.
func (l *tailLogs) DeleteRange(from, to uint64) error {
	first, err := l.LogStore.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	if from <= first || to < last {
		return l.drop(from, to)
	}
	return l.cut(from)
}

// cut removes what is stored from an index on, and shows it as the tail.
func (l *tailLogs) cut(from uint64) error {
	last, err := l.LogStore.LastIndex()
	if err != nil || from > last {
		return err
	}
	var removed tail
	for i := from; i <= last; i++ {
		entry := new(raft.Log)
		if err := l.LogStore.GetLog(i, entry); err != nil {
			return err
		}
		removed = append(removed, entry)
	}
	before := l.tail.Load()
	removed = append(removed, l.shown()...)
	l.tail.Store(&removed)
	if err := l.LogStore.DeleteRange(from, last); err != nil {
		l.tail.Store(before)
		return err
	}
	return nil
}

// drop removes entries at the beginning, or all.
func (l *tailLogs) drop(from, to uint64) error {
	last, err := l.LogStore.LastIndex()
	if err != nil {
		return err
	}
	if from <= last {
		if err := l.LogStore.DeleteRange(from, min(to, last)); err != nil {
			return err
		}
	}
	l.forget(to)
	return nil
}

// forget takes the entries up to an index out of the tail.
func (l *tailLogs) forget(to uint64) {
	for {
		old := l.tail.Load()
		if old == nil {
			return
		}
		left := slices.DeleteFunc(slices.Clone(*old), func(entry *raft.Log) bool { return entry.Index <= to })
		if l.show(old, left) {
			return
		}
	}
}
