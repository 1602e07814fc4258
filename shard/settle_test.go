package shard

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
)

func TestSettleLogRepairsOnlyAConflict(t *testing.T) {
	for name, tc := range map[string]struct {
		index, term uint64
		want        []uint64 // terms of the entries from 3 on
	}{
		"entry of another term":   {5, 4, []uint64{2, 2, 4, 2, 2}},
		"entry of that term":      {5, 2, []uint64{2, 2, 2, 2, 2}},
		"the last entry":          {7, 4, []uint64{2, 2, 2, 2, 4}},
		"snapshot behind the log": {9, 4, []uint64{2, 2, 2, 2, 2}},
		"snapshot before the log": {2, 4, []uint64{2, 2, 2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			logs := raft.NewInmemStore()
			for i := uint64(3); i <= 7; i++ {
				if err := logs.StoreLog(&raft.Log{Index: i, Term: 2, Type: raft.LogCommand}); err != nil {
					t.Fatal(err)
				}
			}
			if err := settleLog(logs, tc.index, tc.term); err != nil {
				t.Fatal(err)
			}
			var got []uint64
			for i := uint64(3); i <= 7; i++ {
				var l raft.Log
				if err := logs.GetLog(i, &l); err != nil {
					t.Fatalf("entry %d: %v", i, err)
				}
				got = append(got, l.Term)
				if l.Term == 4 && l.Type != raft.LogNoop {
					t.Errorf("entry %d is a %v, want a no-op", i, l.Type)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("terms %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSettleLogOfAnEmptyLog(t *testing.T) {
	if err := settleLog(raft.NewInmemStore(), 9, 1); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
