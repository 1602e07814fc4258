package integration

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// redisTally is what a client knows of a counter that it has added to.
type redisTally struct{ done int }

// note counts an answer, and fails the test for one that is not to come.
func (r *redisTally) note(t *testing.T, answer string) {
	t.Helper()
	switch {
	case strings.HasPrefix(answer, "-CLUSTERDOWN"), strings.HasPrefix(answer, "-TRYAGAIN"):
	case answer[0] == ':' || answer[0] == '*':
		r.done++
	default:
		t.Errorf("answer %q", answer)
	}
}

func (r *redisTally) check(t *testing.T, what, answer string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(answer[strings.Index(answer, "\n")+1:]))
	if err != nil || n != r.done {
		t.Errorf("%s is %q after %d additions", what, answer, r.done)
	}
}

// TestRedisClientsSurviveAKill works through one node while another one, which leads, is
// killed: nothing acknowledged is lost, nothing is done twice or in part, and a
// connection reads its own writes all the time. It is told of every outcome.
func TestRedisClientsSurviveAKill(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	m := c.clusterMap()
	a, b := string(keyOf(m, 1)), string(keyOf(m, 2))
	victim := c.leader(1)
	survivor := c.others(victim)[0]
	conn := dialRedis(t, survivor.resp)
	conn.must(t, "SET", a, "0")
	conn.must(t, "SET", b, "0")
	var single, both redisTally
	const rounds = 150
	for i := range rounds {
		single.note(t, conn.must(t, "INCR", "single{"+a+"}"))
		value := strconv.Itoa(i)
		if conn.must(t, "SET", "own", value) == "+OK\r\n" {
			if got := conn.must(t, "GET", "own"); got != bulk(value) {
				t.Fatalf("round %d: wrote %s and read %q", i, value, got)
			}
		}
		conn.must(t, "MULTI")
		conn.must(t, "INCR", a)
		if i == rounds/3 {
			victim.kill() // in the middle of a transaction
		}
		conn.must(t, "INCR", b)
		both.note(t, conn.must(t, "EXEC"))
	}
	conn.must(t, "READMODE", "linearizable")
	single.check(t, "the counter", conn.must(t, "GET", "single{"+a+"}"))
	both.check(t, "the first of two", conn.must(t, "GET", a))
	if first, second := conn.must(t, "GET", a), conn.must(t, "GET", b); first != second {
		t.Errorf("the counters of one transaction are %q and %q", first, second)
	}
	if single.done < rounds/2 || both.done < rounds/2 {
		t.Errorf("%+v and %+v of %d rounds were done", single, both, rounds)
	}
}

// TestRedisScanGoesOnAtAnotherNode: a scan begins at a node that is killed, and its
// cursor goes on at another one, while keys come and go.
func TestRedisScanGoesOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	first, second := c.nodes[0], c.nodes[1]
	conn := dialRedis(t, first.resp)
	stable := map[string]bool{}
	for i := range 5000 {
		key := fmt.Sprintf("stable:%d", i)
		if i%2 == 0 {
			key = fmt.Sprintf("stable:{one slot}:%d", i)
		}
		stable[key] = false
		if err := conn.send("SET", key, "v"); err != nil {
			t.Fatal(err)
		}
	}
	for range stable {
		if answer, err := conn.read(); err != nil || answer != "+OK\r\n" {
			t.Fatalf("set: %q, %v", answer, err)
		}
	}
	cursor, pages := "0", 0
	for done := false; !done; done = cursor == "0" {
		if pages++; pages == 5 {
			first.kill()
			conn = dialRedis(t, second.resp)
		}
		conn.must(t, "SET", "passing:"+strconv.Itoa(pages), "v")
		answer := strings.Split(conn.must(t, "SCAN", cursor, "COUNT", "20", "MATCH", "stable*"), "\r\n")
		if answer[0] != "*2" {
			continue // nobody leads yet
		}
		cursor = answer[2]
		for i := 5; i < len(answer); i += 2 {
			stable[answer[i]] = true
		}
	}
	if pages < 10 {
		t.Errorf("the scan took %d pages, want many", pages)
	}
	for key, found := range stable {
		if !found {
			t.Errorf("%s was not found", key)
		}
	}
}
