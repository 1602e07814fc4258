package storage

import (
	"errors"
	"testing"
)

func TestMemoryOutlivesClose(t *testing.T) {
	t.Parallel()
	m, err := NewMemory(testConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]string{"n1": m.Identity().Incarnation}
	if err := m.Form("c1", members); err != nil {
		t.Fatal(err)
	}
	if err := m.Form("c2", members); !errors.Is(err, ErrFormed) {
		t.Errorf("another cluster: err = %v, want %v", err, ErrFormed)
	}
	if err := m.Quarantine(1, "digest"); err != nil {
		t.Fatal(err)
	}
	crashed, err := m.OpenReplica(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.OpenReplica(1, 1); err == nil {
		t.Error("a replica was opened twice")
	}
	store(t, crashed.Logs, entry(5, 1, 10), entry(6, 1, 10))
	if err := crashed.Logs.StoreLog(entry(8, 1, 10)); err == nil {
		t.Error("the log took an entry behind a gap")
	}
	if err := crashed.Stable.SetUint64([]byte("CurrentTerm"), 3); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := m.OpenReplica(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := crashed.Logs.StoreLog(entry(7, 1, 10)); !errors.Is(err, ErrClosed) {
		t.Errorf("the crashed node wrote: err = %v, want %v", err, ErrClosed)
	}
	wantRange(t, r.Logs, 5, 6)
	if term, err := r.Stable.GetUint64([]byte("CurrentTerm")); err != nil || term != 3 {
		t.Errorf("term = %d, %v; want 3", term, err)
	}
	if reason, ok := m.Quarantined(1); !ok || reason != "digest" {
		t.Errorf("Quarantined = %q, %v", reason, ok)
	}
	if id := m.Identity(); id.Cluster != "c1" {
		t.Errorf("cluster = %q, want c1", id.Cluster)
	}
	other, err := m.OpenReplica(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	wantRange(t, other.Logs, 0, 0)
	m.Close()
}
