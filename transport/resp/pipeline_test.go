package resp

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// TestPipelinesAnswerAsOneByOne sends random commands on few keys in long pipelines to a
// node that leads some groups and answers late at random: the answers are those of a
// model that carries them out one by one.
func TestPipelinesAnswerAsOneByOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			node := newTestNode(t)
			node.Intercept(func(string, op.Request) *fakenode.Fault {
				return &fakenode.Fault{Delay: time.Duration(rand.N(3)) * 100 * time.Microsecond}
			})
			if seed%2 == 0 {
				node.look = func(op.Lookup) bool { return rand.N(4) > 0 }
			}
			c := connect(t, node)
			random := rand.New(rand.NewPCG(seed, 0))
			model := map[string]string{}
			for range 10 {
				var lines, want []string
				for range 60 {
					line, answer := step(random, model)
					lines, want = append(lines, line), append(want, answer)
				}
				c.send(lines...)
				for i := range lines {
					if got := c.read(); got != want[i] {
						t.Fatalf("%s: %q, want %q", lines[i], got, want[i])
					}
				}
			}
		})
	}
}

// step returns a command and what the model answers to it.
func step(random *rand.Rand, model map[string]string) (line, answer string) {
	key := fmt.Sprintf("k%d", random.IntN(6))
	switch random.IntN(8) {
	case 0, 1:
		value := strconv.Itoa(random.IntN(1000))
		model[key] = value
		return "SET " + key + " " + value, "+OK"
	case 2, 3, 4:
		if value, ok := model[key]; ok {
			return "GET " + key, value
		}
		return "GET " + key, "nil"
	case 5:
		n, _ := strconv.Atoi(model[key]) // 0 if nothing stands there
		model[key] = strconv.Itoa(n + 1)
		return "INCR " + key, ":" + model[key]
	case 6:
		_, ok := model[key]
		delete(model, key)
		return "DEL " + key, map[bool]string{true: ":1", false: ":0"}[ok]
	}
	model[key] += "1"
	return "APPEND " + key + " 1", ":" + strconv.Itoa(len(model[key]))
}

// TestWritesOfDifferentKeysRunSideBySide, and answers wait for their turn.
func TestWritesOfDifferentKeysRunSideBySide(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	node.hold = func(req op.Request) bool { _, writes := req.Op.(op.Write); return writes }
	c := connect(t, node)
	c.send("SET a 1", "SET b 2", "SET a 3", "GET a")
	<-node.kept
	<-node.kept
	node.release(1) // b
	node.release(0) // a; the second write of it comes only now
	<-node.kept
	node.release(0)
	for i, want := range []string{"+OK", "+OK", "+OK", "3"} {
		if got := c.read(); got != want {
			t.Errorf("answer %d: %q, want %q", i, got, want)
		}
	}
}

// TestReadsWaitForTheWritesBeforeThem, also of other keys.
func TestReadsWaitForTheWritesBeforeThem(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	node.hold = func(req op.Request) bool {
		_, writes := req.Op.(op.Write)
		if !writes && len(node.held) > 0 {
			t.Errorf("a read while %d writes are under way", len(node.held))
		}
		return writes
	}
	c := connect(t, node)
	c.send("SET a 1", "SET b 2", "GET c", "GET a")
	<-node.kept
	<-node.kept
	node.release(0)
	if got := c.read(); got != "+OK" {
		t.Errorf("SET a: %q", got)
	}
	node.release(0)
	for i, want := range []string{"+OK", "nil", "1"} {
		if got := c.read(); got != want {
			t.Errorf("answer %d: %q, want %q", i, got, want)
		}
	}
}

// TestAConnectionReadsItsOwnWrites: the bound of a read is what the write has shown.
func TestAConnectionReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	var bounds []uint64
	node.hold = func(req op.Request) bool {
		if _, reads := req.Op.(op.Read); reads {
			if req.Level != op.Session {
				t.Errorf("a read at level %s, want session", req.Level)
			}
			bounds = append(bounds, req.Bound)
		}
		return false
	}
	c := connect(t, node)
	c.want("GET a", "nil")
	c.want("SET a 1", "+OK")
	c.want("GET a", "1")
	if len(bounds) != 2 || bounds[0] != 0 || bounds[1] == 0 {
		t.Errorf("reads with the bounds %d, want 0 and the write's index", bounds)
	}
}

// TestWhatTheReplicaHereDoesNotShowIsAskedOfTheLeader.
func TestWhatTheReplicaHereDoesNotShowIsAskedOfTheLeader(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	node.late = true
	var levels []op.Level
	node.hold = func(req op.Request) bool {
		if _, reads := req.Op.(op.Read); reads {
			levels = append(levels, req.Level)
		}
		return false
	}
	c := connect(t, node)
	c.want("GET a", "nil")
	c.want("SET a 1", "+OK")
	c.want("GET a", "1")
	if len(levels) != 2 || levels[0] != op.Session || levels[1] != op.Linearizable {
		t.Errorf("reads at the levels %v, want session and linearizable", levels)
	}
}

func TestNobodyWaitsForAnswersThatAreNotWanted(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	c.send("CLIENT REPLY OFF", "SET a 1", "GET a", "NOPE", "CLIENT REPLY ON", "GET a", "CLIENT REPLY SKIP", "GET a", "PING")
	for _, want := range []string{"+OK", "1", "+PONG"} {
		if got := c.read(); got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
}
