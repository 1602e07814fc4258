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
	"github.com/ringraft/ringraft/placement"
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

// additions are those of many callers to the same counters, of which there is one in each
// group.
type additions struct {
	t        *testing.T
	counters []string
	enough   atomic.Bool
	wg       sync.WaitGroup

	mu      sync.Mutex
	done    int64                     // acknowledged
	seen    map[string]map[int64]bool // sums, by counter
	missing int64                     // ended without an answer
}

func newAdditions(t *testing.T, m placement.Map) *additions {
	a := &additions{t: t, seen: map[string]map[int64]bool{}}
	for _, g := range m.Groups {
		counter := string(keyOf(m, g.ID))
		a.counters = append(a.counters, counter)
		a.seen[counter] = map[int64]bool{}
	}
	t.Cleanup(func() {
		a.enough.Store(true)
		a.wg.Wait()
	})
	return a
}

// run has a caller add until it is enough, the first time to the counter of that turn.
// One at a node that is to die ends with its connection.
func (a *additions) run(add adder, turn int, dies bool) {
	a.wg.Go(func() {
		for !a.enough.Load() {
			counter := a.counters[turn%len(a.counters)]
			sum, answer, err := add(counter)
			if !a.note(counter, sum, answer, err, dies) {
				return
			}
			turn++
		}
	})
}

// note notes what one addition has come to, and reports whether its caller goes on.
func (a *additions) note(counter string, sum int64, answer string, err error, dies bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil && dies:
		a.missing++
		return false
	case err != nil || answer != "":
		a.t.Errorf("an addition was answered %q, %v", answer, err)
		a.enough.Store(true)
		return false
	case a.seen[counter][sum]:
		a.t.Errorf("%s was counted to %d a second time", counter, sum)
	}
	a.seen[counter][sum] = true
	a.done++
	return true
}

// await returns when so many more are done.
func (a *additions) await(more int64) {
	a.t.Helper()
	a.mu.Lock()
	want := a.done + more
	a.mu.Unlock()
	eventually(a.t, "the counters run", func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.done < want && !a.enough.Load() {
			return fmt.Errorf("%d additions, want %d", a.done, want)
		}
		return nil
	})
}

// check ends the callers, and compares the counters with what they were told.
func (a *additions) check(cl *client.Client) {
	a.t.Helper()
	a.enough.Store(true)
	a.wg.Wait()
	var acknowledged, total int64
	for _, counter := range a.counters {
		v, err := cl.Get(a.t.Context(), counter, client.At(client.Linearizable))
		if err != nil {
			a.t.Fatal(err)
		}
		n, err := strconv.ParseInt(string(v.Bytes), 10, 64)
		if err != nil {
			a.t.Fatal(err)
		}
		total += n
		acknowledged += int64(len(a.seen[counter]))
	}
	if total < acknowledged || total > acknowledged+a.missing {
		a.t.Errorf("the counters come to %d, after %d acknowledged additions and %d without an answer", total, acknowledged, a.missing)
	}
}

// startFronts starts three nodes that also serve HTTP, at the addresses returned.
func startFronts(t *testing.T) (c *liveCluster, web []string) {
	t.Helper()
	c, web = newCluster(t, 3), freeAddresses(t, 3)
	for i, n := range c.nodes {
		n.args = append(n.args, "--http", web[i])
		n.start()
	}
	c.connect()
	return c, web
}

// TestWritesThroughFrontsOutliveTheirLeader adds to counters through all fronts of three
// nodes, without idempotency keys, while one that leads is killed. Whoever talks to
// another node sees no error, no sum twice, and what was not acknowledged are the
// additions that were under way at the dead node.
func TestWritesThroughFrontsOutliveTheirLeader(t *testing.T) {
	t.Parallel()
	c, web := startFronts(t)
	a := newAdditions(t, c.clusterMap())
	victim := c.leader(1)
	for i, n := range c.nodes {
		for turn := range 6 {
			a.run(redisAdder(t, n), turn, n == victim)
			a.run(httpAdder(t, web[i]), turn, n == victim)
		}
	}
	a.await(2000)
	victim.kill()
	a.await(3000)
	a.check(c.client)
	if a.missing == 0 {
		t.Error("nothing was under way at the dead node")
	}
}

// TestWritesThroughFrontsOutliveASilentLeader, which takes them and says nothing, until it
// goes on as if nothing had been.
func TestWritesThroughFrontsOutliveASilentLeader(t *testing.T) {
	t.Parallel()
	c, web := startFronts(t)
	a := newAdditions(t, c.clusterMap())
	silent := c.leader(1)
	for i, n := range c.nodes {
		if n == silent {
			continue
		}
		for turn := range 6 {
			a.run(redisAdder(t, n), turn, false)
			a.run(httpAdder(t, web[i]), turn, false)
		}
	}
	a.await(1000)
	silent.pause()
	a.await(1000)
	silent.resume()
	a.await(1000)
	a.check(c.client)
}
