package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/client"
)

// adder adds one to a counter through a node's front. An error means that there is no
// connection any more; an answer other than sum is the front's own.
type adder func(counter string) (sum int64, answer string, err error)

func redisAdder(t *testing.T, n *liveNode) adder {
	conn := dialRedis(t, n.resp)
	return func(counter string) (int64, string, error) {
		answer, err := conn.do("INCR", counter)
		if err != nil {
			return 0, "", err
		}
		digits, ok := strings.CutPrefix(strings.TrimSpace(answer), ":")
		sum, malformed := strconv.ParseInt(digits, 10, 64)
		if !ok || malformed != nil {
			return 0, answer, nil
		}
		return sum, "", nil
	}
}

func httpAdder(t *testing.T, addr string) adder {
	caller := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	t.Cleanup(caller.CloseIdleConnections)
	return func(counter string) (int64, string, error) {
		res, err := caller.Post("http://"+addr+"/-/counters/"+counter, "application/json", strings.NewReader("{}"))
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		var sum, version int64
		if _, err := fmt.Fscanf(res.Body, `{"number":%d,"version":%d}`, &sum, &version); err != nil {
			return 0, fmt.Sprintf("%s: %v", res.Status, err), nil
		}
		return sum, "", nil
	}
}

// TestWritesThroughFrontsOutliveTheirLeader adds to counters through all fronts of three
// nodes, without idempotency keys, while one that leads is killed. Whoever talks to
// another node sees no error, no sum twice, and what was not acknowledged are the
// additions that were under way at the dead node.
func TestWritesThroughFrontsOutliveTheirLeader(t *testing.T) {
	t.Parallel()
	const callers, before, after = 6, 2000, 3000
	c := newCluster(t, 3)
	web := freeAddresses(t, 3)
	for i, n := range c.nodes {
		n.args = append(n.args, "--http", web[i])
		n.start()
	}
	c.connect()
	m := c.clusterMap()
	var counters []string
	for _, g := range m.Groups {
		counters = append(counters, string(keyOf(m, g.ID)))
	}
	victim := c.leader(m.Groups[0].ID)

	var (
		done    atomic.Int64 // acknowledged
		killed  atomic.Bool
		mu      sync.Mutex
		seen    = map[string]map[int64]bool{} // sums, by counter
		missing int64                         // connections that ended without an answer
	)
	for _, counter := range counters {
		seen[counter] = map[int64]bool{}
	}
	run := func(n *liveNode, add adder, turn int) {
		for ; !killed.Load() || done.Load() < before+after; turn++ {
			counter := counters[turn%len(counters)]
			sum, answer, err := add(counter)
			mu.Lock()
			switch {
			case err != nil && n == victim:
				missing++
				mu.Unlock()
				return
			case err != nil || answer != "":
				t.Errorf("%s answered %q, %v", n.id, answer, err)
				killed.Store(true)
				done.Store(before + after)
			case seen[counter][sum]:
				t.Errorf("%s counted %s to %d a second time", n.id, counter, sum)
			default:
				seen[counter][sum] = true
				done.Add(1)
			}
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		for k := range callers {
			redis, web := redisAdder(t, n), httpAdder(t, web[i])
			wg.Go(func() { run(n, redis, k) })
			wg.Go(func() { run(n, web, k+1) })
		}
	}
	eventually(t, "the counters run", func() error {
		if n := done.Load(); n < before {
			return fmt.Errorf("%d additions", n)
		}
		return nil
	})
	victim.kill()
	killed.Store(true)
	wg.Wait()
	if missing == 0 {
		t.Error("nothing was under way at the dead node")
	}
	var acknowledged, total int64
	for _, counter := range counters {
		v, err := c.client.Get(t.Context(), counter, client.At(client.Linearizable))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(string(v.Bytes), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		acknowledged += int64(len(seen[counter]))
	}
	if total < acknowledged || total > acknowledged+missing {
		t.Errorf("the counters come to %d, after %d acknowledged additions and %d without an answer", total, acknowledged, missing)
	}
}
