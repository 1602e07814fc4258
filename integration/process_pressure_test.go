package integration

import (
	"fmt"
	"strings"
	"testing"
)

// TestFrontsUnderMemoryPressure: values make room for others, what an idempotency key
// stands for does not; and where nothing can make room, clients are told so in their words.
func TestFrontsUnderMemoryPressure(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "--groups", "1", "--replicas", "1")
	web := freeAddresses(t, 1)[0]
	c.nodes[0].args = append(c.nodes[0].args, "--http", web)
	c.nodes[0].start()
	c.connect()
	if err := c.client.SetConfig(t.Context(), "max-bytes", "1MiB"); err != nil {
		t.Fatal(err)
	}
	redis := dialRedis(t, c.nodes[0].resp)
	const asJSON, key = "Content-Type: application/json", "Idempotency-Key: visit"
	status, first, _ := webTo(t, web, "POST", "/-/counters/n", `{}`, asJSON, key)
	if status != 200 {
		t.Fatalf("%d %s", status, first)
	}
	value := strings.Repeat("v", 10_000)
	eventually(t, "the first value is evicted", func() error {
		for i := range 200 {
			if got := redis.must(t, "SET", fmt.Sprintf("value:%d", i), value); got != "+OK\r\n" {
				return fmt.Errorf("SET: %q", got)
			}
		}
		if got := redis.must(t, "EXISTS", "value:0", "n"); got != ":0\r\n" {
			return fmt.Errorf("EXISTS: %q", got)
		}
		return nil
	})
	status, again, header := webTo(t, web, "POST", "/-/counters/n", `{}`, asJSON, key)
	if status != 200 || again != first || header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repeat: %d %s, want a replay of %s", status, again, first)
	}
	for size := len(value); size > 0; size /= 10 { // to the brim: no answer finds room
		for i := 0; ; i++ {
			status, text, _ := webTo(t, web, "PUT", fmt.Sprintf("/kept:%d:%d?protect=true", size, i), value[:size])
			if status == 507 && strings.Contains(text, "urn:ringraft:problem:out-of-memory") {
				break
			}
			if status != 201 || i > 200 {
				t.Fatalf("protected value %d of %d bytes: %d %s; want 201, and 507 in the end", i, size, status, text)
			}
		}
	}
	if got := redis.must(t, "SET", "one more", value); !strings.HasPrefix(got, "-OOM ") {
		t.Errorf("SET: %q, want OOM", got)
	}
	if got := redis.must(t, "GET", "kept:10000:0"); got != bulk(value) {
		t.Errorf("GET: %.40q, want it to work", got)
	}
	if status, _, _ := webTo(t, web, "DELETE", "/kept:10000:0", ""); status != 204 {
		t.Errorf("DELETE: %d, want 204", status)
	}
	if got := redis.must(t, "DEL", "kept:10000:1", "kept:10000:2"); got != ":2\r\n" {
		t.Errorf("DEL: %q, want it to work", got)
	}
	if got := redis.must(t, "SET", "one more", value); got != "+OK\r\n" {
		t.Errorf("SET with room: %q", got)
	}
}
