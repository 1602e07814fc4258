package integration

import (
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestRedisScriptsSurviveAKill: clients of two nodes run a script that reads, adds and
// writes keys of two groups, while the third node, which leads one, is killed. No effect
// is lost, done in part, or done twice.
func TestRedisScriptsSurviveAKill(t *testing.T) {
	t.Parallel()
	const text = `local n = tonumber(redis.call("get", KEYS[1]) or 0) + 1
		redis.call("set", KEYS[1], n)
		redis.call("set", KEYS[2], redis.call("get", KEYS[1]))
		return n`
	c := startCluster(t, 3)
	m := c.clusterMap()
	a, b := string(keyOf(m, 1)), string(keyOf(m, 2))
	victim := c.leader(1)
	const clients, rounds = 8, 40
	var wg sync.WaitGroup
	var mu sync.Mutex
	var tally redisTally
	given := map[string]int{} // acknowledged numbers
	for i := range clients {
		conn := dialRedis(t, c.others(victim)[i%2].resp)
		wg.Go(func() {
			for round := range rounds {
				if i == 0 && round == rounds/3 {
					victim.kill()
				}
				answer, err := conn.do("EVAL", text, "2", a, b)
				if err != nil {
					t.Errorf("EVAL: %v", err)
					return
				}
				mu.Lock()
				tally.note(t, answer)
				if answer[0] == ':' {
					given[answer]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	conn := dialRedis(t, c.others(victim)[0].resp)
	conn.must(t, "READMODE", "linearizable")
	first, second := conn.must(t, "GET", a), conn.must(t, "GET", b)
	tally.check(t, "the counter", first)
	if first != second {
		t.Errorf("the keys of one script are %q and %q", first, second)
	}
	for answer, times := range given {
		if times > 1 {
			t.Errorf("%s was answered %d times", strconv.Quote(strings.TrimSpace(answer)), times)
		}
	}
	if tally.done < clients*rounds/4 {
		t.Errorf("%+v of %d scripts were done", tally, clients*rounds)
	}
}
