package shard

import (
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

func TestBootstrapWritesAFirstConfigurationOnceAndNeverOverALoss(t *testing.T) {
	term := func(t *testing.T, st *storage.Replica) {
		if err := st.Stable.SetUint64([]byte(keyTerm), 1); err != nil {
			t.Fatal(err)
		}
	}
	first := func(t *testing.T, st *storage.Replica) {
		if err := st.Logs.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration}); err != nil {
			t.Fatal(err)
		}
	}
	both := func(t *testing.T, st *storage.Replica) { term(t, st); first(t, st) }
	nothing := func(*testing.T, *storage.Replica) {}
	for name, tc := range map[string]struct {
		born    bool
		stage   func(*testing.T, *storage.Replica)
		refused bool
	}{
		"new":                        {false, nothing, false},
		"stopped after the term":     {false, term, false},
		"stopped before it was born": {false, both, false},
		"started again":              {true, both, false},
		"lost its term":              {true, first, true},
		"lost its log":               {true, term, true},
		"lost everything":            {true, nothing, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := storage.NewMemory(storage.Config{Node: "n1"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if tc.born {
				if err := store.MarkBorn(1, 1); err != nil {
					t.Fatal(err)
				}
			}
			st, err := store.OpenReplica(1, 1)
			if err != nil {
				t.Fatal(err)
			}
			tc.stage(t, st)
			conf := raft.DefaultConfig()
			conf.LocalID = "n1/1/1"
			_, transport := raft.NewInmemTransport("n1/1/1")
			err = bootstrap(conf, replicaConfig{
				group: 1, self: placement.Replica{Node: "n1", Generation: 1}, store: store,
				servers: []raft.Server{{ID: "n1/1/1", Address: "n1/1/1"}},
			}, st, transport)
			if tc.refused {
				if err == nil || !strings.Contains(err.Error(), "must not vote") {
					t.Errorf("got %v, want it refused", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if term, history, err := stateOf(st); term != 1 || !history || err != nil || !store.Born(1, 1) {
				t.Errorf("term %d, history %v, born %v, %v; want 1, true, true", term, history, store.Born(1, 1), err)
			}
		})
	}
}
