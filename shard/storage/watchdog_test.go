package storage

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestStalledWriteIsReportedOnceAndNotGivenUp(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		type stall struct {
			what  string
			since time.Time
		}
		stalls := make(chan stall, 9)
		release := make(chan struct{})
		hang := false
		m, err := NewMemory(Config{Node: "n1", OnStall: func(what string, since time.Time) {
			stalls <- stall{what, since}
		}}, func(string) error {
			if hang {
				<-release
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.OpenReplica(3, 1)
		if err != nil {
			t.Fatal(err)
		}
		store(t, r.Logs, entry(1, 1, 10))
		time.Sleep(time.Hour)
		if len(stalls) != 0 || m.Stalled() {
			t.Fatal("a write that returned was reported")
		}

		hang = true
		began := time.Now()
		wrote := make(chan error)
		go func() { wrote <- r.Logs.StoreLog(entry(2, 1, 10)) }()
		time.Sleep(defaultStallAfter - time.Nanosecond)
		synctest.Wait()
		if len(stalls) != 0 || m.Stalled() {
			t.Fatal("reported before its time")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := <-stalls; len(stalls) != 0 || !got.since.Equal(began) || !strings.Contains(got.what, "log of replica 3.1") {
			t.Fatalf("stall %v and %d more, want one of the log since %v", got, len(stalls), began)
		}
		if !m.Stalled() {
			t.Error("Stalled = false while the write hangs")
		}

		close(release)
		if err := <-wrote; err != nil {
			t.Errorf("the write returned %v, want nil", err)
		}
		if m.Stalled() {
			t.Error("Stalled = true after the write returned")
		}
		wantRange(t, r.Logs, 1, 2)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestEveryKindOfWriteIsTimed(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*Replica) error{
		"StoreLog":    func(r *Replica) error { return r.Logs.StoreLog(entry(1, 1, 1)) },
		"DeleteRange": func(r *Replica) error { return r.Logs.DeleteRange(1, 1) },
		"Set":         func(r *Replica) error { return r.Stable.Set([]byte("k"), []byte("v")) },
		"SetUint64":   func(r *Replica) error { return r.Stable.SetUint64([]byte("k"), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				stalls := 0
				m, err := NewMemory(Config{Node: "n1", StallAfter: time.Second, OnStall: func(string, time.Time) { stalls++ }},
					func(string) error { time.Sleep(2 * time.Second); return nil })
				if err != nil {
					t.Fatal(err)
				}
				r, err := m.OpenReplica(1, 1)
				if err != nil {
					t.Fatal(err)
				}
				if err := write(r); err != nil {
					t.Fatal(err)
				}
				m.Close()
				if stalls != 1 {
					t.Errorf("%d stalls, want 1", stalls)
				}
			})
		})
	}
}

func TestFailingWritesAreLoggedAtTheirBeginningAndEnd(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var fault error
	m, err := NewMemory(Config{Node: "n1", Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(string) error { return fault })
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := m.OpenReplica(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		fault  error
		logged string // "" is nothing
	}{
		{nil, ""},
		{errors.New("disk full"), `level=ERROR msg="writes fail" to="log of replica 1.1" err="disk full"`},
		{errors.New("disk full"), ""},
		{nil, `level=INFO msg="writes succeed again" to="log of replica 1.1"`},
		{nil, ""},
	} {
		log.Reset()
		fault = step.fault
		_ = r.Logs.DeleteRange(1, 1) // of nothing: a write all the same
		if said := log.String(); !strings.Contains(said, step.logged) || step.logged == "" && said != "" {
			t.Errorf("fault %v: logged %q, want %q", step.fault, said, step.logged)
		}
	}
}

func TestWriteErrorLastsUntilTheNextSuccess(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	var fault error
	m, err := NewMemory(Config{Node: "n1"}, func(string) error { return fault })
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.OpenReplica(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.OpenReplica(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	fault = full
	if err := r.Logs.StoreLog(entry(1, 1, 1)); err != full {
		t.Fatalf("err = %v, want it unchanged", err)
	}
	fault = nil
	store(t, other.Logs, entry(1, 1, 1))
	if err := r.Stable.SetUint64([]byte("k"), 1); err != nil {
		t.Fatal(err)
	}
	if err := m.WriteError(); !errors.Is(err, full) {
		t.Errorf("WriteError = %v after writes elsewhere, want %v", err, full)
	}
	if err := other.WriteError(); err != nil {
		t.Errorf("the other replica's WriteError = %v, want nil", err)
	}
	store(t, r.Logs, entry(1, 1, 1))
	if err := m.WriteError(); err != nil {
		t.Errorf("WriteError = %v after a success, want nil", err)
	}
	m.Close()
}
