package raftfsm

import (
	"fmt"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestALoweredLimitIsReachedBitByBit: one entry that evicts millions of records would hold
// up all reads and writes for seconds.
func TestALoweredLimitIsReachedBitByBit(t *testing.T) {
	t.Parallel()
	const records, kept = 5000, 100
	f := New(Config{})
	fill(t, f, records, 10)
	each := f.Stats().Bytes / records
	limit := kept * each
	do(t, f, 0, op.Configure{Settings: op.GroupSettings{MaxBytes: limit}})
	if s := f.Stats(); s.Evicted > maxBacklog || s.Evicted < maxBacklog-1 || !f.SweepDue(0) {
		t.Errorf("%d records evicted, sweep due: %v, want about %d and that", s.Evicted, f.SweepDue(0), maxBacklog)
	}
	// Writes go on, and a replica that starts from a snapshot does as the others do.
	other := restored(t, persist(t, takeSnapshot(t, f)))
	for i := 0; f.SweepDue(0); i++ {
		before := f.Stats()
		entry := entryOf(0, nil, set(fmt.Sprintf("new%d", i), "0123456789"), set(fmt.Sprintf("newer%d", i), ""))
		if i%3 == 0 {
			entry = entryOf(0, nil, op.Sweep{Limit: 300})
		}
		applyEntry(t, f, entry)
		applyEntry(t, other, entry)
		after := f.Stats()
		evicted := after.Evicted - before.Evicted
		if evicted == 0 || evicted > maxBacklog+2 || after.Bytes >= before.Bytes {
			t.Fatalf("entry %d: %d records evicted, from %d to %d bytes", i, evicted, before.Bytes, after.Bytes)
		}
		if f.Mark() != other.Mark() {
			t.Fatalf("entry %d: %v, on another replica %v", i, f.Mark(), other.Mark())
		}
	}
	if s := f.Stats(); s.Bytes > limit || s.Bytes < limit-2*each {
		t.Errorf("%d bytes are left, want just under %d", s.Bytes, limit)
	}
	if res := get(f, fmt.Sprintf("k%d", records-1), 0); !res.Found {
		t.Error("the youngest of the old records is gone")
	}
}

func TestALargeRecordMakesItsRoomAtOnce(t *testing.T) {
	t.Parallel()
	const records = 2000
	f := New(Config{})
	fill(t, f, records, 10)
	limit := f.Stats().Bytes
	do(t, f, 0, op.Configure{Settings: op.GroupSettings{MaxBytes: limit}})
	do(t, f, 0, op.Set{Key: []byte("large"), Value: make([]byte, limit*9/10)})
	if s := f.Stats(); s.Bytes > limit || s.Evicted <= maxBacklog {
		t.Errorf("%d bytes with a limit of %d, %d records evicted", s.Bytes, limit, s.Evicted)
	}
}
