package client_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// start starts a cluster and a client of it; both end with the test.
func start(t *testing.T, cfg fakenode.Config) (*fakenode.Cluster, *client.Client) {
	t.Helper()
	nodes, err := fakenode.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	return nodes, connectTo(t, nodes, client.Config{})
}

// connectTo returns a client of the cluster, which ends with the test.
func connectTo(t *testing.T, nodes *fakenode.Cluster, cfg client.Config) *client.Client {
	t.Helper()
	cfg.Endpoints, cfg.RequestTimeout = nodes.Endpoints(), time.Minute
	c, err := client.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestRecordsComeBackAsWritten(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	for name, kv := range map[string][2]string{
		"text":         {"greeting", "hello"},
		"empty value":  {"empty", ""},
		"any bytes":    {"\x00\xff{\n", "\xff\x00\xfe"},
		"longest key":  {string(bytes.Repeat([]byte("k"), op.MaxKey)), "v"},
		"largest data": {"big", string(bytes.Repeat([]byte("v"), op.DefaultMaxValue))},
	} {
		for _, level := range []client.Level{client.Local, client.Linearizable} {
			version := must[uint64](t)(c.Set(t.Context(), kv[0], []byte(kv[1])))
			got := must[client.Value](t)(c.Get(t.Context(), kv[0], client.At(level)))
			if string(got.Bytes) != kv[1] || got.Version != version || got.TTL != 0 {
				t.Errorf("%s, %s: got %d bytes, version %d, TTL %v; want %d bytes, version %d, no TTL",
					name, level, len(got.Bytes), got.Version, got.TTL, len(kv[1]), version)
			}
		}
	}
}

func TestLifeOfAKey(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	ctx := t.Context()
	absent := func(when string) {
		t.Helper()
		_, getErr := c.Get(ctx, "k")
		_, statErr := c.Stat(ctx, "k")
		_, ttlErr := c.TTL(ctx, "k")
		for _, err := range []error{getErr, statErr, ttlErr, c.Expire(ctx, "k", time.Hour), c.Persist(ctx, "k")} {
			if !errors.Is(err, client.ErrNotFound) {
				t.Errorf("%s: err = %v, want %v", when, err, client.ErrNotFound)
			}
		}
		if must[bool](t)(c.Exists(ctx, "k")) {
			t.Errorf("%s: it exists", when)
		}
	}
	absent("before")
	must[uint64](t)(c.Set(ctx, "k", []byte("value"), client.WithTTL(time.Hour)))
	stat := must[client.Stat](t)(c.Stat(ctx, "k"))
	if stat.Size != 5 || stat.TTL <= 0 || stat.TTL > time.Hour {
		t.Errorf("stat = %+v, want 5 bytes and at most an hour", stat)
	}
	must[uint64](t)(c.Set(ctx, "k", []byte("other"), client.KeepTTL()))
	if ttl := must[time.Duration](t)(c.TTL(ctx, "k")); ttl <= 0 || ttl > time.Hour {
		t.Errorf("kept TTL = %v, want at most an hour", ttl)
	}
	if err := c.Persist(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if ttl := must[time.Duration](t)(c.TTL(ctx, "k")); ttl != 0 {
		t.Errorf("TTL after Persist = %v, want none", ttl)
	}
	if err := c.Expire(ctx, "k", 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if ttl := must[time.Duration](t)(c.TTL(ctx, "k")); ttl <= time.Hour {
		t.Errorf("TTL after Expire = %v, want nearly two hours", ttl)
	}
	for _, existed := range []bool{true, false} {
		if got := must[bool](t)(c.Delete(ctx, "k")); got != existed {
			t.Errorf("Delete = %v, want %v", got, existed)
		}
	}
	absent("after")
}

func TestAdd(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	for _, want := range []int64{5, 3} {
		delta := want - map[int64]int64{5: 0, 3: 5}[want]
		if got := must[int64](t)(c.Add(t.Context(), "n", delta)); got != want {
			t.Errorf("sum = %d, want %d", got, want)
		}
	}
	must[uint64](t)(c.Set(t.Context(), "n", []byte("x")))
	if _, err := c.Add(t.Context(), "n", 1); !errors.Is(err, client.ErrRefused) {
		t.Errorf("adding to text: err = %v, want %v", err, client.ErrRefused)
	}
}

func TestReadsSurviveConnectionResets(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "k", []byte("v")))
	var reads atomic.Int64
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if _, ok := req.Op.(op.Get); ok && reads.Add(1)%3 == 0 {
			return &fakenode.Fault{Cut: true}
		}
		return nil
	})
	for i := range 60 {
		level := []client.Level{client.Local, client.Linearizable}[i%2]
		if v := must[client.Value](t)(c.Get(t.Context(), "k", client.At(level))); string(v.Bytes) != "v" {
			t.Fatalf("read %d: %q", i, v.Bytes)
		}
	}
}

func TestCallsFollowMovingLeaders(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	var calls sync.WaitGroup
	for w := range 4 {
		calls.Go(func() {
			key := "counter " + strconv.Itoa(w)
			for i := range int64(100) {
				nodes.Lead(uint64(rand.N(4)+1), "n"+strconv.Itoa(rand.N(3)+1))
				if n, err := c.Add(t.Context(), key, 1); err != nil || n != i+1 {
					t.Errorf("add %d: %d, %v", i, n, err)
					return
				}
			}
		})
	}
	calls.Wait()
}

func TestNodesComeBackElsewhere(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	group := nodes.GroupOf("k")
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes.Lead(group, id)
		must[uint64](t)(c.Set(t.Context(), "k", []byte(id)))
		nodes.Stop(id)
		if err := nodes.Restart(id); err != nil {
			t.Fatal(err)
		}
		retried := must[client.Value](t)(c.Get(t.Context(), "k", client.At(client.Linearizable)))
		if string(retried.Bytes) != id {
			t.Errorf("read %q after %s came back", retried.Bytes, id)
		}
	}
}

func TestCancelledCallsLeaveNoAnswersToOthers(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	nodes.Intercept(func(string, op.Request) *fakenode.Fault {
		return &fakenode.Fault{Delay: time.Duration(rand.N(2000)) * time.Microsecond}
	})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 100 {
				key := strconv.Itoa(w) + "/" + strconv.Itoa(i)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.N(3000))*time.Microsecond)
				_, setErr := c.Set(ctx, key, []byte(key))
				v, getErr := c.Get(ctx, key)
				cancel()
				if setErr == nil && getErr == nil && string(v.Bytes) != key {
					t.Errorf("%s holds %q", key, v.Bytes)
				}
			}
		})
	}
	wg.Wait()
}

func TestNewFailsWhereNobodyAnswers(t *testing.T) {
	t.Parallel()
	nodes, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		t.Fatal(err)
	}
	nodes.Close()
	if _, err := client.New(t.Context(), client.Config{Endpoints: nodes.Endpoints()}); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("err = %v, want %v", err, client.ErrUnavailable)
	}
}

func TestClusterCalls(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	ctx := t.Context()
	nodes.Lead(0, "n3") // of the meta group: calls are sent on to it
	last := nodes.Map().Groups[1].Replicas[2].Node
	if leader := must[string](t)(c.Transfer(ctx, 2, "")); leader != last {
		t.Errorf("new leader = %s, want %s", leader, last)
	}
	if leader := must[string](t)(c.Transfer(ctx, 2, "n1")); leader != "n1" || nodes.Leader(2) != "n1" {
		t.Errorf("new leader = %s, want n1", leader)
	}
	if err := c.SetConfig(ctx, "max-bytes", "1GiB"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetConfig(ctx, "no-such", "1"); !errors.Is(err, client.ErrRefused) {
		t.Errorf("unknown setting: err = %v, want %v", err, client.ErrRefused)
	}
	m, err := c.Map(ctx)
	if err != nil || m.Epoch != nodes.Map().Epoch || m.Settings.MaxBytes != 1<<30 {
		t.Errorf("map: epoch %d, max-bytes %d, %v", m.Epoch, m.Settings.MaxBytes, err)
	}
	status := must[[]op.NodeStatus](t)(c.Status(ctx))
	if len(status) != 3 || status[0].Node != "n1" || len(status[0].Replicas) != 4 {
		t.Errorf("status = %+v, want three nodes with four replicas each", status)
	}
}
