package client_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func increment(old client.Value, found bool) ([]byte, error) {
	n := 0
	if found {
		var err error
		if n, err = strconv.Atoi(string(old.Bytes)); err != nil {
			return nil, err
		}
	}
	return strconv.AppendInt(nil, int64(n+1), 10), nil
}

// TestNoUpdateIsLost among a hundred at once, with answers lost on the way.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 1})
	nodes.Intercept(loseEvery(10))
	var wg sync.WaitGroup
	var mu sync.Mutex
	losses := 0
	for range 100 {
		wg.Go(func() {
			_, lost, err := c.Update(t.Context(), "n", increment, client.Tries(1000))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			losses += lost
			mu.Unlock()
		})
	}
	wg.Wait()
	if v := must[client.Value](t)(c.Get(t.Context(), "n")); string(v.Bytes) != "100" || v.Version != 100 {
		t.Errorf("the counter is %s at version %d after 100 updates", v.Bytes, v.Version)
	}
	if losses == 0 {
		t.Error("nobody lost: there was no contention")
	}
}

func TestUpdateGivesUpAfterItsTries(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	for want, opts := range map[int][]client.WriteOption{5: nil, 2: {client.Tries(2)}} {
		calls := 0
		_, lost, err := c.Update(t.Context(), "k", func(client.Value, bool) ([]byte, error) {
			calls++
			_, err := c.Set(t.Context(), "k", []byte("somebody else"))
			return []byte("mine"), err
		}, opts...)
		if !errors.Is(err, client.ErrConditionNotMet) || lost != want || calls != want {
			t.Errorf("lost %d times in %d calls, err = %v; want %d and %v", lost, calls, err, want, client.ErrConditionNotMet)
		}
	}
}

func TestUpdateKeepsToItsOptions(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "n", []byte("4"), client.WithTTL(time.Hour)))
	version, lost, err := c.Update(t.Context(), "n", increment, client.KeepTTL())
	if err != nil || version != 2 || lost != 0 {
		t.Errorf("version %d, lost %d, err = %v", version, lost, err)
	}
	if v := must[client.Value](t)(c.Get(t.Context(), "n")); string(v.Bytes) != "5" || v.TTL == 0 {
		t.Errorf("the key holds %s with TTL %v", v.Bytes, v.TTL)
	}
}

func TestUpdateEndsWithTheDecidersError(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	sold := errors.New("sold out")
	if _, _, err := c.Update(t.Context(), "k", func(client.Value, bool) ([]byte, error) { return nil, sold }); !errors.Is(err, sold) {
		t.Errorf("err = %v, want %v", err, sold)
	}
	_, _, err := c.UpdateMany(t.Context(), []string{"k"}, func(map[string]client.Value) ([]client.Pair, error) { return nil, sold })
	if !errors.Is(err, sold) {
		t.Errorf("of many: err = %v, want %v", err, sold)
	}
	if n := nodes.Served(op.CodeSet) + nodes.Served(op.CodeTxn); n > 0 {
		t.Errorf("%d writes", n)
	}
}

func TestUpdateStopsWithItsContext(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, lost, err := c.Update(ctx, "k", func(client.Value, bool) ([]byte, error) {
		if calls++; calls == 3 {
			cancel()
		}
		_, err := c.Set(t.Context(), "k", []byte("somebody else"))
		return []byte("mine"), err
	}, client.Tries(1000))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, client.ErrUnavailable) || lost != 2 || calls != 3 {
		t.Errorf("lost %d times in %d calls, err = %v; want canceled in the third", lost, calls, err)
	}
}

// TestUpdateManyMovesMoneyWithoutLoss between accounts that many change at once: the
// sum stays.
func TestUpdateManyMovesMoneyWithoutLoss(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	accounts := []string{"{bank}a", "{bank}b", "{bank}c"}
	for _, a := range accounts {
		must[uint64](t)(c.Set(t.Context(), a, []byte("100")))
	}
	nodes.Intercept(loseEvery(10))
	var wg sync.WaitGroup
	for i := range 30 {
		from, to := accounts[i%3], accounts[(i+1)%3]
		wg.Go(func() {
			written, _, err := c.UpdateMany(t.Context(), []string{from, to}, func(old map[string]client.Value) ([]client.Pair, error) {
				return []client.Pair{{Key: from, Value: plus(old[from], -10)}, {Key: to, Value: plus(old[to], 10)}}, nil
			}, client.Tries(1000))
			if err != nil || len(written) != 2 || written[0].Key != from || written[1].Value.Version < 2 {
				t.Errorf("written %+v, err = %v", written, err)
			}
		})
	}
	wg.Wait()
	newest := uint64(0)
	for _, r := range must[[]client.Result](t)(c.GetMany(t.Context(), accounts)) {
		newest = max(newest, r.Value.Version)
		if !bytes.Equal(r.Value.Bytes, []byte("100")) {
			t.Errorf("%s holds %s, want 100", r.Key, r.Value.Bytes)
		}
	}
	if newest != 3+2*30 { // they share a slot, and so its versions
		t.Errorf("the newest version is %d, want 63 after 3 writes and 30 updates", newest)
	}
}

func plus(old client.Value, delta int) []byte {
	n, err := strconv.Atoi(string(old.Bytes))
	if err != nil {
		return nil
	}
	return strconv.AppendInt(nil, int64(n+delta), 10)
}

// TestUpdateManyChecksWhatItOnlyRead: of two doctors on call one may leave, not both.
func TestUpdateManyChecksWhatItOnlyRead(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	doctors := []string{"{ward}alice", "{ward}bob"}
	for _, d := range doctors {
		must[uint64](t)(c.Set(t.Context(), d, []byte("on call")))
	}
	busy := errors.New("nobody else is on call")
	var bothRead sync.WaitGroup
	bothRead.Add(2)
	var left sync.WaitGroup
	errs := make([]error, 2)
	for i, me := range doctors {
		first := true
		left.Go(func() {
			_, _, errs[i] = c.UpdateMany(t.Context(), doctors, func(old map[string]client.Value) ([]client.Pair, error) {
				if first {
					first = false
					bothRead.Done()
					bothRead.Wait()
				}
				if string(old[doctors[1-i]].Bytes) != "on call" {
					return nil, busy
				}
				return []client.Pair{{Key: me, Value: []byte("off")}}, nil
			})
		})
	}
	left.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), busy) {
		t.Errorf("outcomes %v; want one who leaves and one who cannot", errs)
	}
}

func TestUpdateManyRefusesWhatItCannotCheck(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	write := func(pairs ...client.Pair) func(map[string]client.Value) ([]client.Pair, error) {
		return func(map[string]client.Value) ([]client.Pair, error) { return pairs, nil }
	}
	for name, tc := range map[string]struct {
		keys   []string
		decide func(map[string]client.Value) ([]client.Pair, error)
	}{
		"no keys":                   {nil, write()},
		"keys of different slots":   {[]string{"a", "b"}, write()},
		"too many keys":             {make([]string, op.MaxTxnOps+1), write()},
		"a key twice":               {[]string{"a", "a"}, write(client.Pair{Key: "a"})},
		"a key that was not read":   {[]string{"{t}a"}, write(client.Pair{Key: "{t}b"})},
		"a key that is written two": {[]string{"a"}, write(client.Pair{Key: "a"}, client.Pair{Key: "a"})},
	} {
		if _, _, err := c.UpdateMany(t.Context(), tc.keys, tc.decide); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want %v", name, err, client.ErrRefused)
		}
	}
	if written, _, err := c.UpdateMany(t.Context(), []string{"a"}, write()); len(written) > 0 || err != nil {
		t.Errorf("nothing to write: %v, %v", written, err)
	}
}
