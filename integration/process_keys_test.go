package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/client"
)

// webTo sends requests to a node's HTTP front, their targets as they are given.
func webTo(t *testing.T, addr, method, target, body string, header ...string) (status int, answer string, raw http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = target // nothing is cleaned or encoded
	for _, line := range append(header, "Read-Consistency: linearizable") {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// percentEncoded encodes all but unreserved characters.
func percentEncoded(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		if strings.IndexByte("-._~", c) >= 0 || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestAKeyIsTheSameThroughEveryFront: what one front writes another one reads, whatever
// bytes the key has; and they leave no trace in headers and logs.
func TestAKeyIsTheSameThroughEveryFront(t *testing.T) {
	t.Parallel()
	c, web := startFronts(t)
	redis := dialRedis(t, c.nodes[0].resp)
	redis.must(t, "READMODE", "linearizable")
	const asBytes = "Accept: application/octet-stream"
	keys := []string{
		"50%", "a%2Fb", "a/b", "a+b", "a b", "a?b", "a#b", "a;b", "a\x00b", "a\r\nb", "\xff\xfe", "a//b", "..", "-/kv/x", `"`,
		"x\r\nInjected: yes\r\n\r\nlevel=ERROR msg=injected",
	}
	target := func(key string) string { return "/-/kv/" + percentEncoded(key) }
	for i, key := range keys {
		if got := redis.must(t, "SET", key, "redis "+strconv.Itoa(i)); got != "+OK\r\n" {
			t.Fatalf("SET %q: %q", key, got)
		}
	}
	for i, key := range keys { // after all were written: none took the place of another
		want := "redis " + strconv.Itoa(i)
		status, got, header := webTo(t, web[i%3], "GET", target(key), "", asBytes)
		if status != 200 || got != want {
			t.Errorf("HTTP: %q holds %d %q, want %q", key, status, got, want)
		}
		if header.Get("Injected") != "" {
			t.Errorf("%q broke out of a header: %v", key, header)
		}
		v, err := c.client.Get(t.Context(), key, client.At(client.Linearizable))
		if err != nil || string(v.Bytes) != want {
			t.Errorf("native: %q holds %q, %v", key, v.Bytes, err)
		}
		if !strings.HasPrefix(key, "-/") {
			if status, got, _ := webTo(t, web[i%3], "GET", "/"+percentEncoded(key), "", asBytes); status != 200 || got != want {
				t.Errorf("HTTP: %q holds %d %q at its own path", key, status, got)
			}
		}
		if status, got, _ := webTo(t, web[i%3], "POST", target(key), `{"value":"web"}`, "Content-Type: application/json"); status != 200 {
			t.Errorf("POST %q: %d %s", key, status, got)
		}
		if got := redis.must(t, "GET", key); got != bulk("web") {
			t.Errorf("Redis: %q holds %q, want what came over HTTP", key, got)
		}
		if _, err := c.client.Set(t.Context(), key, []byte("native")); err != nil {
			t.Errorf("native: %q: %v", key, err)
		}
		if got := redis.must(t, "GETDEL", key); got != bulk("native") {
			t.Errorf("Redis: %q holds %q, want what came natively", key, got)
		}
		if status, _, _ := webTo(t, web[i%3], "GET", target(key), ""); status != 404 {
			t.Errorf("HTTP: %q, which is gone: %d", key, status)
		}
	}
	for _, malformed := range []string{"/50%", "/%zz"} {
		if status, _, _ := webTo(t, web[0], "GET", malformed, ""); status != 400 {
			t.Errorf("GET %s: %d, want 400", malformed, status)
		}
	}
	for _, n := range c.nodes {
		log, err := os.ReadFile(n.log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			if !bytes.HasPrefix(line, []byte("time=")) {
				t.Errorf("%s: a key broke out in the log: %q", n.id, line)
			}
		}
	}
}

// TestAPipelineStaysInStepThroughAKill: a thousand commands are under way on one
// connection when a leader is killed; each answer belongs to its command, before and after.
func TestAPipelineStaysInStepThroughAKill(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	victim := c.leader(1)
	conn := dialRedis(t, c.others(victim)[0].resp)
	const commands = 1000
	round := func(killed func()) {
		t.Helper()
		ended := make(chan error, 1)
		go func() {
			for i := range commands {
				if i == commands/2 {
					killed()
				}
				key := fmt.Sprintf("pipelined:%d", i)
				for _, args := range [][]string{{"SET", key, key}, {"GET", key}, {"NOPE"}} {
					if err := conn.send(args...); err != nil {
						ended <- err
						return
					}
				}
			}
			ended <- nil
		}()
		for i := range commands {
			key := fmt.Sprintf("pipelined:%d", i)
			for _, want := range []string{"+OK\r\n", bulk(key), "-ERR unknown command 'NOPE', with args beginning with: \r\n"} {
				if got, err := conn.read(); err != nil || got != want {
					t.Fatalf("command %d: %q, %v; want %q", i, got, err, want)
				}
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	round(victim.kill)
	round(func() {})
}
