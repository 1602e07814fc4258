package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// curl is a caller of one node's HTTP front by the program of that name.
type curl struct {
	t    *testing.T
	path string
	base string // http://HOST:PORT
}

// startHTTPCluster starts three nodes with HTTP and returns a caller of each.
func startHTTPCluster(t *testing.T) (*liveCluster, []curl) {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	c := newCluster(t, 3)
	var callers []curl
	for i, addr := range freeAddresses(t, 3) {
		c.nodes[i].args = append(c.nodes[i].args, "--http", addr)
		callers = append(callers, curl{t, path, "http://" + addr})
	}
	for _, node := range c.nodes {
		node.start()
	}
	c.connect()
	return c, callers
}

// curlAnswer is what came back: status 0 if nothing did.
type curlAnswer struct {
	status int
	header map[string]string // by lower-case name
	body   string
}

// call sends one request, with further arguments of curl.
func (c curl) call(method, target string, args ...string) curlAnswer {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args = append([]string{"--silent", "--include", "--path-as-is", "--globoff", "--max-time", "30", "--request", method, c.base + target}, args...)
	if method == "HEAD" {
		args = append(args, "--head")
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Stdout = &out
	_ = cmd.Run() // what it has written tells
	return parseCurl(out.String())
}

func parseCurl(text string) curlAnswer {
	head, body, _ := strings.Cut(text, "\r\n\r\n")
	if strings.HasPrefix(head, "HTTP/1.1 100") {
		head, body, _ = strings.Cut(body, "\r\n\r\n")
	}
	a := curlAnswer{header: map[string]string{}, body: body}
	for i, line := range strings.Split(head, "\r\n") {
		if i == 0 {
			if fields := strings.Fields(line); len(fields) > 1 {
				a.status, _ = strconv.Atoi(fields[1])
			}
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		a.header[strings.ToLower(name)] = value
	}
	return a
}

func (c curl) post(target, document string, args ...string) curlAnswer {
	return c.call("POST", target, append([]string{"--header", "Content-Type: application/json", "--data-binary", document}, args...)...)
}

// TestCurlUsesAnyNode goes through what the front offers, each request at another node.
func TestCurlUsesAnyNode(t *testing.T) {
	t.Parallel()
	c, nodes := startHTTPCluster(t)
	turn := 0
	next := func() curl { turn++; return nodes[turn%len(nodes)] }
	check := func(a curlAnswer, status int, body string) curlAnswer {
		t.Helper()
		if a.status != status || body != "" && strings.TrimSpace(a.body) != body {
			t.Fatalf("request %d: %+v; want %d %s", turn, a, status, body)
		}
		return a
	}
	check(next().post("/greeting", `{"value":"hello","ttl":"1h"}`), 201, "")
	check(next().call("GET", "/greeting"), 200, `{"value":"hello"}`)
	check(next().call("PUT", "/a%2Fb//..", "--header", "Content-Type: text/html", "--data-binary", "<p>"), 201, "")
	page := check(next().call("GET", "/a%2Fb//..", "--header", "Accept: application/octet-stream"), 200, "<p>")
	if page.header["content-type"] != "text/html" {
		t.Errorf("%+v; want the media type kept", page)
	}
	c.want("a/b//..", "<p>")
	tag := check(next().call("HEAD", "/greeting"), 200, "").header["etag"]
	check(next().post("/greeting", `{"value":"bye"}`, "--header", `If-Match: "1000000"`), 412, "")
	check(next().post("/greeting", `{"value":"bye"}`, "--header", "If-Match: "+tag), 200, "")
	check(next().call("DELETE", "/greeting", "--header", "If-Match: "+tag), 412, "")
	for range 3 {
		check(next().post("/-/counters/visits", `{}`), 200, "")
	}
	check(next().call("GET", "/visits?read=linearizable"), 200, `{"value":"3"}`)
	var items []string
	for i := range 40 { // of all groups
		items = append(items, fmt.Sprintf(`{"key":"many:%d","value":"v"}`, i))
	}
	set := check(next().post("/-/set", `{"items":[`+strings.Join(items, ",")+`]}`), 200, "")
	if n := strings.Count(set.body, `"version":`); n != 40 {
		t.Errorf("%d versions in %s", n, set.body)
	}
	scan := check(next().call("GET", "/-/scan?prefix=many:&limit=1000", "--header", "Ringraft-Session: "+set.header["ringraft-session"], "--header", "Read-Consistency: session"), 200, "")
	if n := strings.Count(scan.body, `"key":`); n != 40 {
		t.Errorf("the session sees %d of its 40 keys", n)
	}
	if err := c.client.AdoptToken(set.header["ringraft-session"]); err != nil {
		t.Errorf("the Go client does not take the token: %v", err)
	}
	check(next().call("DELETE", "/greeting"), 204, "")
	check(next().call("DELETE", "/greeting"), 404, "")
	check(next().call("GET", "/-/openapi.json"), 200, "")
}

// TestOneCreatesAlthoughTheLeaderDies has callers create one key while its leader is
// killed: nobody, or one, gets it, and what stands there is that one's.
func TestOneCreatesAlthoughTheLeaderDies(t *testing.T) {
	t.Parallel()
	c, nodes := startHTTPCluster(t)
	m := c.clusterMap()
	key := "once"
	leader := c.leader(m.GroupOf(op.SlotOf([]byte(key))))
	var wg sync.WaitGroup
	answers := make([]curlAnswer, 20)
	for i := range answers {
		wg.Go(func() {
			answers[i] = nodes[i%len(nodes)].post("/"+key, fmt.Sprintf(`{"value":"%d"}`, i), "--header", "If-None-Match: *")
		})
		if i == len(answers)/2 {
			leader.kill()
		}
	}
	wg.Wait()
	created, unknown := []string{}, map[string]bool{}
	for i, a := range answers {
		switch a.status {
		case 201:
			created = append(created, strconv.Itoa(i))
		case 412, 503:
		case 504, 0: // or the node that died did not answer at all
			unknown[strconv.Itoa(i)] = true
		default:
			t.Errorf("%d: %+v", i, a)
		}
	}
	c.waitReady()
	v, err := c.client.Get(t.Context(), key, client.At(client.Linearizable))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.Bytes); len(created) > 1 || len(created) == 1 && got != created[0] || len(created) == 0 && !unknown[got] {
		t.Errorf("%v got 201, the outcome of %v is unknown, and the key holds %s", created, unknown, got)
	}
}

// TestKeyedWritesCountOnceAlthoughTheLeaderDies has callers repeat writes under a key
// until they are answered, at one node after the other, while a leader is killed.
func TestKeyedWritesCountOnceAlthoughTheLeaderDies(t *testing.T) {
	t.Parallel()
	c, nodes := startHTTPCluster(t)
	const callers, writes = 4, 6
	leader := c.leader(c.clusterMap().GroupOf(op.SlotOf([]byte("n"))))
	var wg sync.WaitGroup
	half := make(chan struct{}, callers)
	for caller := range callers {
		wg.Go(func() {
			for i := range writes {
				if i == writes/2 {
					half <- struct{}{}
				}
				key := fmt.Sprintf("Idempotency-Key: %d-%d", caller, i)
				eventually(t, "the write is answered", func() error {
					for _, node := range nodes {
						a := node.post("/-/counters/n", `{}`, "--header", key)
						if a.status == 200 {
							return nil
						}
						if a.status != 503 && a.status != 504 && a.status != 409 && a.status != 0 {
							t.Errorf("%+v", a)
						}
					}
					return errors.New("no answer")
				})
				transfer := `{"then":[{"add":{"key":"a"}},{"add":{"key":"b"}},{"add":{"key":"c"}},{"add":{"key":"d"}}]}`
				eventually(t, "the transaction is answered", func() error {
					for _, node := range nodes {
						if a := node.post("/-/transactions", transfer, "--header", key+"-txn"); a.status == 200 {
							return nil
						}
					}
					return errors.New("no answer")
				})
			}
		})
	}
	<-half
	leader.kill()
	wg.Wait()
	for _, key := range []string{"n", "a", "b", "c", "d"} {
		c.want(key, strconv.Itoa(callers*writes))
	}
}

// TestHTTPWithoutAMajority: the answer comes in time, and says that it can be tried again.
// Once there is a majority, a repeat under the same key is done.
func TestHTTPWithoutAMajority(t *testing.T) {
	t.Parallel()
	c, nodes := startHTTPCluster(t)
	if a := nodes[0].post("/k", `{"value":"v"}`); a.status != 201 {
		t.Fatalf("%+v", a)
	}
	c.waitCaughtUp() // a local read shows what the replica here has
	for _, n := range c.nodes[1:] {
		n.kill()
	}
	if a := nodes[0].call("GET", "/k"); a.status != 503 || a.header["retry-after"] == "" {
		t.Errorf("read: %+v; want 503 with Retry-After", a)
	}
	if a := nodes[0].post("/k", `{"value":"w"}`); a.status != 504 && (a.status != 503 || a.header["retry-after"] == "") {
		t.Errorf("write: %+v; want 503 with Retry-After, or 504", a)
	}
	if a := nodes[0].call("GET", "/k?read=local"); a.status != 200 {
		t.Errorf("local read: %+v", a)
	}
	const key = "Idempotency-Key: r1"
	if a := nodes[0].post("/-/counters/n", `{}`, "--header", key); a.status != 503 || a.header["retry-after"] == "" {
		t.Errorf("write under a key: %+v; want 503 with Retry-After, since the key was not even claimed", a)
	}
	for _, n := range c.nodes[1:] {
		n.start()
	}
	c.waitReady()
	for i, node := range nodes {
		a := node.post("/-/counters/n", `{}`, "--header", key)
		if a.status != 200 || strings.TrimSpace(a.body) != `{"number":1,"version":1}` || (a.header["idempotency-replayed"] == "true") != (i > 0) {
			t.Errorf("repeat %d: %+v; want it done by the first, and replayed by the others", i, a)
		}
	}
}
