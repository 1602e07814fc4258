package raftfsm

import (
	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// view is what a read sees: the state at a time of the reader's own. It lives under
// the read lock, and so do the values that it shows.
type view struct {
	state *state
	now   int64
	hint  func(key []byte) // nil to give none
}

func (v *view) Now() int64 { return v.now }

func (v *view) Lookup(key []byte) (op.Record, bool) {
	var search lru.Search
	search.Begin(v.state.cache, op.SlotOf(key), key)
	return v.state.read(&search, v.now, key, v.hint)
}

func (v *view) Decision(id []byte) (op.Decision, bool) { return v.state.Decision(id) }

func (v *view) Page(slot uint16, after, prefix []byte, limit, look int) ([]op.Keyed, []byte, int) {
	return v.state.page(slot, after, prefix, limit, look, v.now)
}

// past reports whether deadline has come by now. A deadline of 0 never does.
func past(deadline, now int64) bool { return deadline != 0 && deadline <= now }

// read returns what the search for key finds at a time, and gives a hint where that is due.
func (s *state) read(search *lru.Search, now int64, key []byte, hint func(key []byte)) (op.Record, bool) {
	it, ok := search.Item()
	if !ok || past(it.Deadline, now) {
		return op.Record{}, false
	}
	if hint != nil && search.Hint(uint32(now/1000)) {
		hint(key)
		if mutant.LocalTouch {
			s.touch(key)
		}
	}
	return record(it), true
}

func (s *state) lookup(slot uint16, key []byte, now int64) (op.Record, bool) {
	it, ok := s.cache.Get(slot, key)
	if !ok || past(it.Deadline, now) {
		return op.Record{}, false
	}
	return record(it), true
}

// page skips what is past its deadline. It looks for one record more than the limit, so
// that there is a next only if there is more, or if it stopped short.
func (s *state) page(slot uint16, after, prefix []byte, limit, look int, now int64) (page []op.Keyed, next []byte, looked int) {
	for next = after; ; {
		refs, rest, n := s.cache.Page(slot, next, prefix, limit+1-len(page), look-looked)
		looked += n
		for _, ref := range refs {
			if past(ref.Deadline, now) {
				continue
			}
			if len(page) == limit {
				return page, []byte(page[limit-1].Key), looked
			}
			page = append(page, op.Keyed{Key: string(ref.Key), Record: record(ref.Item)})
		}
		next = rest
		if len(next) == 0 || looked >= look {
			return page, next, looked
		}
	}
}

func record(it lru.Item) op.Record {
	return op.Record{Value: it.Value, Version: it.Version, Deadline: it.Deadline, Protected: it.Protected}
}
