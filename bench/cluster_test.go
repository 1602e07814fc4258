package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// fake starts a cluster in this process, and a client of it.
func fake(t *testing.T) (*fakenode.Cluster, *client.Client) {
	t.Helper()
	nodes, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	cl, err := client.New(t.Context(), client.Config{Endpoints: nodes.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	return nodes, cl
}

func TestClusterIsFilledAndRead(t *testing.T) {
	t.Parallel()
	nodes, cl := fake(t)
	cluster, err := NewCluster(cl, client.Linearizable, time.Hour, nodes.Map().Slots)
	if err != nil {
		t.Fatal(err)
	}
	l := Load{Store: cluster, Work: workload(t, 0.5, 700), Callers: 4, Requests: 200, Duration: time.Minute}
	if err := l.Fill(t.Context(), func(int) {}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"bench:0", "bench:499", "bench:500", "bench:699"} {
		if v, err := cl.Get(t.Context(), key, client.At(client.Linearizable)); err != nil || len(v.Bytes) != 8 || v.TTL == 0 {
			t.Errorf("%s: %+v, %v; want 8 bytes that end", key, v, err)
		}
		if got, want := cluster.Group([]byte(key)), int(nodes.GroupOf(key)); got < 0 || got >= 4 || want == 0 {
			t.Errorf("%s is in group %d of %d", key, got, cluster.Groups())
		}
	}
	r, err := l.Run(t.Context())
	if err != nil || r.OK != 200 || r.Errors+r.Unknown != 0 || nodes.Served(op.CodeGet) < 50 {
		t.Errorf("%+v, %v, %d reads served; want 200 answered", r, err, nodes.Served(op.CodeGet))
	}
}

func TestClusterReadsAtTheLevelAskedFor(t *testing.T) {
	t.Parallel()
	nodes, cl := fake(t)
	for level, want := range map[client.Level]op.Level{
		client.Local: op.Local, client.Session: op.Session, client.Linearizable: op.Linearizable, client.Bounded(time.Second): op.Bounded,
	} {
		c, err := NewCluster(cl, level, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []op.Level
		nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
			if req.Op.Code() == op.CodeGet {
				got = append(got, req.Level)
			}
			return nil
		})
		c.Do(t.Context(), []Request{{Read: true, Key: []byte("k")}})
		if len(got) != 1 || got[0] != want {
			t.Errorf("level %v: reads at %v on the wire, want one at %v", level, got, want)
		}
	}
}

func TestClusterTellsGroupsApart(t *testing.T) {
	t.Parallel()
	slots := make([]uint64, op.Slots)
	for i := range slots {
		slots[i] = 7 + 3*uint64(i%5)
	}
	c, err := NewCluster(nil, client.Local, 0, slots)
	if err != nil || c.Groups() != 5 {
		t.Fatalf("%d groups, %v; want 5", c.Groups(), err)
	}
	byGroup := map[int]uint64{}
	for n := range 1000 {
		key := AppendKey(nil, n)
		id := slots[op.SlotOf(key)]
		if known, ok := byGroup[c.Group(key)]; ok && known != id {
			t.Fatalf("%s: group %d is %d and %d", key, c.Group(key), known, id)
		}
		byGroup[c.Group(key)] = id
	}
	if len(byGroup) != 5 {
		t.Errorf("%d groups are used, want 5", len(byGroup))
	}
	if _, err := NewCluster(nil, client.Local, 0, slots[1:]); err == nil {
		t.Error("a map without all slots is taken")
	}
	if c, err := NewCluster(nil, client.Local, 0, nil); err != nil || c.Groups() != 1 {
		t.Errorf("without a map: %v, want one group", err)
	}
}

func TestClusterAnswersForAbsentKeysAndFailures(t *testing.T) {
	t.Parallel()
	nodes, cl := fake(t)
	c, err := NewCluster(cl, client.Local, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := []Request{{Read: true, Key: []byte("absent"), Err: errUnanswered}}
	c.Do(t.Context(), batch)
	if batch[0].Err != nil {
		t.Errorf("an absent key: %v, want an answer", batch[0].Err)
	}
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if set, ok := req.Op.(op.MSet); ok && nodes.GroupOf(string(set.Pairs[0].Key)) == nodes.GroupOf("bad") {
			return &fakenode.Fault{Err: op.Invalid("value", "is too long")}
		}
		return nil
	})
	good := "good"
	for nodes.GroupOf(good) == nodes.GroupOf("bad") {
		good += "."
	}
	many := []Request{{Key: []byte(good), Value: []byte("v")}, {Key: []byte("bad"), Value: []byte("v")}}
	c.Do(t.Context(), many)
	if many[0].Err != nil || !errors.Is(many[1].Err, op.ErrRefused) {
		t.Errorf("errors %v, %v; want only the second", many[0].Err, many[1].Err)
	}
}
