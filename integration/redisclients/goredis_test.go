package redisclients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// answer is what every command of go-redis has.
type answer interface {
	fmt.Stringer
	Err() error
}

// wanted is a command and what go-redis makes of it in text.
type wanted struct {
	cmd  answer
	want string
}

// wants fails the test for each command with another answer. The commands have run.
func wants(t *testing.T, list ...wanted) {
	t.Helper()
	for _, w := range list {
		if _, got, _ := strings.Cut(w.cmd.String(), ": "); got != w.want {
			t.Errorf("%v; want %s", w.cmd, w.want)
		}
	}
}

func goRedisStrings(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.client(t, 1)
	const a, b = "strings:{t}:a", "strings:{t}:b"
	wants(t,
		wanted{c.Set(ctx, a, "1", time.Hour), "OK"},
		wanted{c.Get(ctx, a), "1"},
		wanted{c.TTL(ctx, a), "1h0m0s"},
		wanted{c.SetNX(ctx, a, "2", 0), "false"},
		wanted{c.SetXX(ctx, a, "2", redis.KeepTTL), "true"},
		wanted{c.SetArgs(ctx, a, "3", redis.SetArgs{Get: true, KeepTTL: true}), "2"},
		wanted{c.SetArgs(ctx, a, "4", redis.SetArgs{Mode: "NX"}), "redis: nil"},
		wanted{c.Do(ctx, "SETEX", a, 60, "5"), "OK"},
		wanted{c.Do(ctx, "GETSET", a, "6"), "5"},
		wanted{c.GetEx(ctx, a, time.Minute), "6"},
		wanted{c.GetDel(ctx, a), "6"},
		wanted{c.Get(ctx, a), "redis: nil"},
		wanted{c.MSet(ctx, a, "x", b, "y"), "OK"},
		wanted{c.MGet(ctx, a, "strings:none", b), "[x <nil> y]"},
		wanted{c.MSetNX(ctx, b, "z", "strings:{t}:c", "z"), "false"},
		wanted{c.Append(ctx, a, "yz"), "3"},
		wanted{c.StrLen(ctx, a), "3"},
		wanted{c.GetRange(ctx, a, 1, -1), "yz"},
		wanted{c.SetRange(ctx, a, 2, "!"), "3"},
		wanted{c.Get(ctx, a), "xy!"},
		wanted{c.Set(ctx, a, 10, 0), "OK"},
		wanted{c.Incr(ctx, a), "11"},
		wanted{c.IncrBy(ctx, a, 9), "20"},
		wanted{c.IncrByFloat(ctx, a, 0.5), "20.5"},
		wanted{c.Del(ctx, b), "1"},
		wanted{c.Decr(ctx, b), "-1"},
		wanted{c.DecrBy(ctx, b, 9), "-10"},
		wanted{c.Set(ctx, a, "\x00\r\n\xff", 0), "OK"},
		wanted{c.Get(ctx, a), "\x00\r\n\xff"},
	)
}

func goRedisKeys(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.client(t, 2)
	const a, b, other = "keys:a", "keys:b", "keys:other"
	wants(t,
		wanted{c.MSet(ctx, a, "1", b, "2"), "OK"},
		wanted{c.Exists(ctx, a, b, other, a), "3"},
		wanted{c.Touch(ctx, a, other), "1"},
		wanted{c.Type(ctx, a), "string"},
		wanted{c.Type(ctx, other), "none"},
		wanted{c.Rename(ctx, a, other), "OK"},
		wanted{c.RenameNX(ctx, other, b), "false"},
		wanted{c.Copy(ctx, other, a, 0, false), "1"},
		wanted{c.MGet(ctx, a, b, other), "[1 2 1]"},
		wanted{c.ObjectEncoding(ctx, a), "int"},
		wanted{c.Del(ctx, a, b), "2"},
		wanted{c.Unlink(ctx, a, other), "1"},
		wanted{c.Rename(ctx, a, b), "ERR no such key"},
		wanted{c.Set(ctx, a, "1", 0), "OK"},
		wanted{c.Keys(ctx, "keys:*"), "[keys:a]"},
	)
	if n, err := c.DBSize(ctx).Result(); err != nil || n < 1 {
		t.Errorf("DBSIZE: %d, %v", n, err)
	}
	if key, err := c.RandomKey(ctx).Result(); err != nil || key == "" {
		t.Errorf("RANDOMKEY: %q, %v", key, err)
	}
	if n, err := c.MemoryUsage(ctx, a).Result(); err != nil || n < 1 {
		t.Errorf("MEMORY USAGE: %d, %v", n, err)
	}
}

func goRedisExpiry(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.client(t, 3)
	const a = "expiry:a"
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	wants(t,
		wanted{c.TTL(ctx, a), "-2ns"},
		wanted{c.Expire(ctx, a, time.Hour), "false"},
		wanted{c.Set(ctx, a, "1", 0), "OK"},
		wanted{c.TTL(ctx, a), "-1ns"},
		wanted{c.ExpireXX(ctx, a, time.Hour), "false"},
		wanted{c.ExpireNX(ctx, a, time.Hour), "true"},
		wanted{c.ExpireGT(ctx, a, time.Minute), "false"},
		wanted{c.ExpireLT(ctx, a, time.Minute), "true"},
		wanted{c.TTL(ctx, a), "1m0s"},
		wanted{c.ExpireAt(ctx, a, at), "true"},
		wanted{c.PExpireAt(ctx, a, at), "true"},
	)
	for _, cmd := range []*redis.DurationCmd{c.ExpireTime(ctx, a), c.PExpireTime(ctx, a)} {
		// The group's clock counts the time that is left: that may move the end a little.
		if end := time.Unix(0, int64(cmd.Val())); cmd.Err() != nil || end.Sub(at).Abs() > time.Minute {
			t.Errorf("%v; want %v", cmd, at)
		}
	}
	wants(t,
		wanted{c.Persist(ctx, a), "true"},
		wanted{c.Persist(ctx, a), "false"},
		wanted{c.PExpire(ctx, a, 10*time.Millisecond), "true"},
	)
	eventually(t, "the key has ended", func() error {
		if v, err := c.Get(ctx, a).Result(); !errors.Is(err, redis.Nil) {
			return fmt.Errorf("%q, %v", v, err)
		}
		return nil
	})
}

func goRedisErrors(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.client(t, 1)
	const a = "errors:a"
	wants(t,
		wanted{c.Set(ctx, a, "abc", 0), "OK"},
		wanted{c.Incr(ctx, a), "ERR value is not an integer or out of range"},
		wanted{c.Set(ctx, a, "9223372036854775807", 0), "OK"},
		wanted{c.Incr(ctx, a), "ERR increment or decrement would overflow"},
		wanted{c.Do(ctx, "SET", a), "ERR wrong number of arguments for 'set' command"},
		wanted{c.Do(ctx, "SET", a, "1", "FOR", "ever"), "ERR syntax error"},
	)
	for _, list := range []answer{c.LPush(ctx, "errors:list", "x"), c.HSet(ctx, "errors:hash", "f", "v"), c.SAdd(ctx, "errors:set", "m")} {
		if err := list.Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR unknown command") {
			t.Errorf("%v; want an unknown command", list)
		}
	}
}

func goRedisServer(t *testing.T, d *dev) {
	ctx := t.Context()
	for _, proto := range []int{2, 3} {
		c := open(t, redis.NewClient(&redis.Options{Addr: d.address(1), Protocol: proto, ClientName: "tester", DB: 0}))
		conn := open(t, c.Conn())
		wants(t,
			wanted{c.Ping(ctx), "PONG"},
			wanted{c.Echo(ctx, "hello"), "hello"},
			wanted{conn.ClientGetName(ctx), "tester"},
			wanted{conn.Select(ctx, 1), "ERR DB index is out of range"},
			wanted{c.ConfigGet(ctx, "save"), "map[save:]"},
			wanted{c.Wait(ctx, 1, time.Second), "1"},
			wanted{c.ReadOnly(ctx), "OK"},
		)
		if id, err := conn.ClientID(ctx).Result(); err != nil || id == 0 {
			t.Errorf("CLIENT ID: %d, %v", id, err)
		}
		if list, err := c.ClientList(ctx).Result(); err != nil || !strings.Contains(list, "name=tester") {
			t.Errorf("CLIENT LIST: %q, %v", list, err)
		}
		if found, err := conn.ClientInfo(ctx).Result(); err != nil || found.Name != "tester" || found.LibName == "" {
			t.Errorf("CLIENT INFO: %+v, %v", found, err)
		}
		if text, err := c.Info(ctx, "server").Result(); err != nil || !strings.Contains(text, "redis_version:7.") {
			t.Errorf("INFO: %q, %v", text, err)
		}
		if now, err := c.Time(ctx).Result(); err != nil || now.Before(time.Now().Add(-time.Hour)) {
			t.Errorf("TIME: %v, %v", now, err)
		}
		commands, err := c.Command(ctx).Result()
		if get := commands["get"]; err != nil || get == nil || get.Arity != 2 || !get.ReadOnly || get.FirstKeyPos != 1 {
			t.Errorf("COMMAND: %+v, %v", get, err)
		}
		if keys, err := c.CommandGetKeys(ctx, "MSET", "a", "1", "b", "2").Result(); err != nil || !slices.Equal(keys, []string{"a", "b"}) {
			t.Errorf("COMMAND GETKEYS: %q, %v", keys, err)
		}
		if slow, err := c.SlowLogGet(ctx, 1).Result(); err != nil || len(slow) > 1 {
			t.Errorf("SLOWLOG GET: %v, %v", slow, err)
		}
	}
}

func goRedisPipelines(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.client(t, 2)
	const n = 1000
	var gets []*redis.StringCmd
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n {
			key := fmt.Sprintf("pipelines:%d", i)
			p.Set(ctx, key, i, 0)
			gets = append(gets, p.Get(ctx, key))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, get := range gets {
		if v, err := get.Int(); err != nil || v != i {
			t.Fatalf("%v; want %d", get, i)
		}
	}
	cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "pipelines:word", "abc", 0)
		p.Incr(ctx, "pipelines:word")
		p.Get(ctx, "pipelines:word")
		return nil
	})
	if err == nil {
		t.Error("a pipeline with a command that fails has no error")
	}
	wants(t, wanted{cmds[0], "OK"}, wanted{cmds[1], "ERR value is not an integer or out of range"}, wanted{cmds[2], "abc"})
}

func goRedisTransactions(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.linearizable(t, 3)
	const a, b = "transactions:a", "transactions:b" // of two groups, maybe
	cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, a, 1, 0)
		p.IncrBy(ctx, b, 5)
		p.MGet(ctx, a, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, wanted{cmds[0], "OK"}, wanted{cmds[1], "5"}, wanted{cmds[2], "[1 5]"})
	err = c.Watch(ctx, func(tx *redis.Tx) error {
		if err := c.Set(ctx, a, "changed", 0).Err(); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, b, "lost", 0).Err() })
		return err
	}, a)
	if !errors.Is(err, redis.TxFailedErr) {
		t.Errorf("a watched key changed: %v, want %v", err, redis.TxFailedErr)
	}
	wants(t, wanted{c.Get(ctx, b), "5"})
}

// goRedisWatch adds to counters by reading and writing, which loses nothing if WATCH
// holds.
func goRedisWatch(t *testing.T, d *dev) {
	const workers, each = 6, 15
	keys := []string{"watch:a", "watch:b"}
	done := make(chan error, workers)
	for i := range workers {
		c := d.client(t, 1+i%nodes)
		go func() {
			for range each {
				if err := addWatched(t.Context(), c, keys); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprint(workers * each)
	wants(t, wanted{d.linearizable(t, 1).MGet(t.Context(), keys...), fmt.Sprintf("[%[1]s %[1]s]", want)})
}

// goRedisPool has connections of a pool read what others of it have written.
func goRedisPool(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.linearizable(t, 2)
	done := make(chan error, 4)
	for w := range cap(done) {
		go func() {
			for i := range 50 {
				key := fmt.Sprintf("pool:%d:%d", w, i)
				if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, i, 0).Err() }); err != nil {
					done <- err
					return
				}
				if got, err := c.Get(ctx, key).Int(); err != nil || got != i {
					done <- fmt.Errorf("%s is %d, %w, want %d", key, got, err, i)
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// addWatched adds 1 to each key, again and again until nobody has come in between.
func addWatched(ctx context.Context, c *redis.Client, keys []string) error {
	for {
		err := c.Watch(ctx, func(tx *redis.Tx) error {
			values, err := tx.MGet(ctx, keys...).Result()
			if err != nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				for i, key := range keys {
					n := 0
					if text, ok := values[i].(string); ok {
						if _, err := fmt.Sscan(text, &n); err != nil {
							return err
						}
					}
					p.Set(ctx, key, n+1, 0)
				}
				return nil
			})
			return err
		}, keys...)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

func goRedisScan(t *testing.T, d *dev) {
	// One connection: go-redis has others for pipelines, and they read their own writes only.
	ctx, c := t.Context(), open(t, d.client(t, 1).Conn())
	const n = 500
	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n {
			p.Set(ctx, fmt.Sprintf("scan:%d", i), i, 0)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, count := range []int64{0, 1, 100} {
		seen := map[string]bool{}
		keys := c.Scan(ctx, 0, "scan:*", count).Iterator()
		for keys.Next(ctx) {
			seen[keys.Val()] = true
		}
		if err := keys.Err(); err != nil || len(seen) != n {
			t.Errorf("COUNT %d: %d keys, %v; want %d", count, len(seen), err, n)
		}
	}
	if keys, _, err := c.ScanType(ctx, 0, "scan:*", 1000, "list").Result(); err != nil || len(keys) != 0 {
		t.Errorf("lists: %q, %v", keys, err)
	}
}
