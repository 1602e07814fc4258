package httpapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/internal/sealed"
	"github.com/ringraft/ringraft/op"
)

// listeningNode notes the requests that pass.
type listeningNode struct {
	Node
	mu   sync.Mutex
	last op.Request
}

func (n *listeningNode) Do(ctx context.Context, req op.Request) op.Result {
	n.mu.Lock()
	n.last = req
	n.mu.Unlock()
	return n.Node.Do(ctx, req)
}

func (n *listeningNode) level() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprint(n.last.Level, " ", n.last.Bound)
}

func TestLevelsOfReads(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	node := &listeningNode{Node: f.cluster}
	g := serveFront(t, f.cluster, Config{Node: node})
	token := g.send("PUT", "/k", "v").header.Get(sessionHeader)
	for _, test := range []struct{ query, header, want string }{
		{"", "", "linearizable 0"},
		{"?read=local", "", "local 0"},
		{"?read=linearizable", "Ringraft-Session: " + token, "linearizable 0"},
		{"", "Read-Consistency: local", "local 0"},
		{"?read=local", "Read-Consistency: local", "local 0"},
		{"?read=bounded=2s", "", "bounded 2000"},
		{"?read=bounded%3D1h", "", "bounded 3600000"},
		{"?read=session", "", "session 0"},
		{"", "Ringraft-Session: " + token, "session 1"},
		{"", "Ringraft-Session:", "linearizable 0"},
	} {
		g.send("GET", "/k"+test.query, "", test.header+"\r\nAccept: */*").want(t, 200, `{"value":"v"}`)
		if got := node.level(); got != test.want {
			t.Errorf("%s, %s: level %s, want %s", test.query, test.header, got, test.want)
		}
	}
	for _, test := range []struct{ query, header string }{
		{"?read=latest", ""}, {"?read=bounded=0s", ""}, {"?read=bounded=2h", ""}, {"?read=bounded", ""}, {"?read=", ""},
		{"?read=local", "Read-Consistency: session"}, {"", "Ringraft-Session: nonsense"},
		{"", "Ringraft-Session: " + token + "x"},
		{"", "Ringraft-Session: " + sealed.Token{Cluster: "another"}.String()},
	} {
		g.send("GET", "/k"+test.query, "", test.header+"\r\nAccept: */*").wantProblem(t, 400, "malformed")
	}
	restored := sealed.Token{Cluster: f.cluster.Cluster(), Seen: []op.GroupIndex{{Group: f.cluster.GroupOf("k"), Index: 4711}}}
	g.send("GET", "/k", "", "Ringraft-Session: "+restored.String()).wantProblem(t, 400, "malformed")
}

// TestTokenTellsAllThatWasSeen takes a token through requests of all kinds: it names the
// newest index of each group.
func TestTokenTellsAllThatWasSeen(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	var pairs []string // of all groups
	for i := range 40 {
		pairs = append(pairs, fmt.Sprintf(`{"key":"k%d","value":"v"}`, i))
	}
	token := ""
	for _, step := range []struct{ method, target, body string }{
		{"PUT", "/k1", "v"}, {"POST", "/k2", `{"value":"v"}`}, {"POST", "/-/set", `{"items":[` + strings.Join(pairs, ",") + `]}`},
		{"POST", "/-/counters/n", `{}`}, {"GET", "/-/scan", ""}, {"POST", "/-/get", `{"keys":["k1","k2","k3"]}`}, {"DELETE", "/k1", ""}, {"GET", "/k1", ""},
	} {
		before, err := sealed.ParseToken(token, f.cluster.Cluster(), maxHeader)
		if token != "" && err != nil {
			t.Fatal(err)
		}
		r := c.send(step.method, step.target, step.body, "Ringraft-Session: "+token)
		token = r.header.Get(sessionHeader)
		after, err := sealed.ParseToken(token, f.cluster.Cluster(), maxHeader)
		if err != nil {
			t.Fatalf("%s %s: %v", step.method, step.target, err)
		}
		for _, was := range before.Seen {
			grown := false
			for _, is := range after.Seen {
				grown = grown || is.Group == was.Group && is.Index >= was.Index
			}
			if !grown {
				t.Errorf("%s %s: seen %v, then %v", step.method, step.target, before.Seen, after.Seen)
			}
		}
	}
	all, _ := sealed.ParseToken(token, f.cluster.Cluster(), maxHeader)
	if len(all.Seen) != 4 {
		t.Errorf("seen %v; want all four groups", all.Seen)
	}
}

func TestSeenNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := seen{}
	for _, index := range []uint64{7, 3, 0} {
		s.note(1, index)
	}
	s.note(2, 0)
	if len(s) != 1 || s[1] != 7 {
		t.Errorf("%v; want index 7 of group 1 alone", s)
	}
}
