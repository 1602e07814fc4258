package raftfsm

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/lru"
)

// Restore replaces the state by the snapshot's, if every byte of that is as it was
// written; otherwise it returns what is wrong where, and the state stays. Applied is
// the snapshot's index from then on. It does not close the source: raft does.
func (f *FSM) Restore(source io.ReadCloser) error {
	if f.halted != nil {
		return f.halted
	}
	r := restorer{frames: newFrameReader(source)}
	next, err := r.restore()
	if err != nil {
		return fmt.Errorf("group %s: snapshot refused: %w", f.group, err)
	}
	f.mu.Lock()
	next.counts, next.unlocked = f.state.counts, true
	f.state = next
	f.history = history{}
	f.arrive(r.header.Applied)
	f.mu.Unlock()
	f.gates.open(r.header.Applied)
	f.logger.Info("snapshot restored", "index", r.header.Applied, "records", r.header.Records, "sessions", r.header.Sessions,
		"transactions", r.header.Txns, "bytes", r.header.Bytes+r.header.SessionBytes+r.header.TxnBytes)
	return nil
}

// restorer builds a state from a snapshot.
type restorer struct {
	frames *frameReader
	header header
	state  *state
	count  tally
}

func (r *restorer) restore() (*state, error) {
	if err := r.frames.preamble(); err != nil {
		return nil, err
	}
	if err := r.frames.fields(&r.header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := r.header.check(); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	r.state = newState(r.header.settings())
	r.state.time = r.header.Time
	cache, err := lru.Restore(r.header.Stamp, r.items)
	if err != nil {
		return nil, err
	}
	r.state.cache, r.state.sum = cache, r.count.sum
	if err := r.sessions(); err != nil {
		return nil, err
	}
	if err := r.txns(); err != nil {
		return nil, err
	}
	return r.state, r.finish()
}

// items yields the records of all blocks, on their way to lru.
func (r *restorer) items(yield func(lru.Ref, error) bool) {
	for range r.header.Slots {
		b, err := r.block()
		if err != nil {
			yield(lru.Ref{}, err)
			return
		}
		for b.next() {
			r.count.record(b)
			if !yield(lru.Ref{Slot: b.slot, Key: b.key, Item: b.item}, nil) {
				return
			}
		}
		if b.err != nil {
			yield(lru.Ref{}, fmt.Errorf("block before byte %d: %w", r.frames.offset, b.err))
			return
		}
	}
}

// block returns the next block, with its slot's version counter taken over.
func (r *restorer) block() (*block, error) {
	encoded, err := r.frames.frame(blockHead + uint64(r.header.Bytes))
	if err != nil {
		return nil, err
	}
	b, err := openBlock(encoded)
	if err == nil {
		err = r.count.slot(b)
	}
	if err != nil {
		return nil, fmt.Errorf("block before byte %d: %w", r.frames.offset, err)
	}
	r.state.versions[b.slot] = b.version
	return b, nil
}

// sessions takes the sessions over.
func (r *restorer) sessions() error {
	r.state.sessions.opened = r.header.Opened
	for range r.header.Sessions {
		encoded, err := r.frames.frame(uint64(r.header.SessionBytes))
		if err != nil {
			return err
		}
		x, err := r.count.session(encoded)
		if err == nil {
			err = r.header.checkSession(x)
		}
		if err != nil {
			return fmt.Errorf("block before byte %d: %w", r.frames.offset, err)
		}
		if !mutant.ForgetSessions {
			r.state.sessions.add(x)
		}
	}
	return nil
}

// txns takes the transactions over.
func (r *restorer) txns() error {
	for range r.header.Txns {
		encoded, err := r.frames.frame(uint64(r.header.TxnBytes))
		if err != nil {
			return err
		}
		record, err := r.count.txn(bytes.Clone(encoded))
		if err != nil {
			return fmt.Errorf("block before byte %d: %w", r.frames.offset, err)
		}
		for _, key := range record.locks() {
			if r.state.Locked(key) {
				return fmt.Errorf("block before byte %d: key %q is locked twice", r.frames.offset, key)
			}
		}
		r.state.txns.put(record)
	}
	return nil
}

// finish compares the trailer with what was read.
func (r *restorer) finish() error {
	whole := r.frames.whole.Sum64()
	var t trailer
	if err := r.frames.fields(&t); err != nil {
		return fmt.Errorf("trailer: %w", err)
	}
	if t.Checksum != whole && !mutant.SkipChecksum {
		return fmt.Errorf("trailer: the bytes before it have checksum %016x, want %016x", whole, t.Checksum)
	}
	if t.Records != r.header.Records {
		return fmt.Errorf("trailer: %d records, the header says %d", t.Records, r.header.Records)
	}
	if err := r.header.verify(r.count, t.Digest); err != nil && !mutant.SkipChecksum {
		return err
	}
	return r.frames.end()
}
