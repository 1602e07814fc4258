package shard

import (
	"testing"

	"github.com/hashicorp/raft"
)

func TestLastShownSkipsWhatRaftKeepsToItself(t *testing.T) {
	t.Parallel()
	logs := raft.NewInmemStore()
	for i, kind := range []raft.LogType{raft.LogCommand, raft.LogConfiguration, raft.LogNoop, raft.LogBarrier, raft.LogCommand} {
		if err := logs.StoreLog(&raft.Log{Index: uint64(i) + 3, Type: kind}); err != nil {
			t.Fatal(err)
		}
	}
	for upTo, want := range map[uint64]uint64{7: 7, 6: 4, 5: 4, 4: 4, 3: 3, 2: 0, 0: 0} {
		if got, err := lastShown(logs, upTo); got != want || err != nil {
			t.Errorf("up to %d: %d, %v; want %d", upTo, got, err, want)
		}
	}
	if got, err := lastShown(raft.NewInmemStore(), 9); got != 0 || err != nil {
		t.Errorf("of an empty log: %d, %v; want 0", got, err)
	}
	if _, err := lastShown(logs, 8); err == nil {
		t.Error("an entry that is gone is no error")
	}
}
