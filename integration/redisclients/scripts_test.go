package redisclients

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// goRedisScripts runs scripts by their text and by their hash, which a node may not know.
func goRedisScripts(t *testing.T, d *dev) {
	ctx, c := t.Context(), d.spread(t)
	const add = `local sum = (tonumber(redis.call('GET', KEYS[1])) or 0) + ARGV[1]
redis.call('SET', KEYS[1], sum)
return sum`
	script := redis.NewScript(add)
	const workers, each = 6, 10
	answers := make(chan []int, workers)
	for range workers {
		go func() {
			var got []int
			for range each {
				n, err := script.Run(ctx, c, []string{"scripts:sum"}, 1).Int()
				if err != nil {
					t.Error(err)
					break
				}
				got = append(got, n)
			}
			answers <- got
		}()
	}
	var all []int
	for range workers {
		all = append(all, <-answers...)
	}
	slices.Sort(all)
	for i, n := range all {
		if n != i+1 {
			t.Fatalf("the answers are %v; want each number up to %d once", all, workers*each)
		}
	}
	one := d.client(t, 1)
	wants(t,
		wanted{one.Eval(ctx, "return {KEYS[1], ARGV[1], 1.9, true, false, 'end'}", []string{"k"}, "v"), "[k v 1 1 <nil> end]"},
		wanted{one.EvalSha(ctx, "ffffffffffffffffffffffffffffffffffffffff", nil), "NOSCRIPT No matching script. Please use EVAL."},
		wanted{one.ScriptExists(ctx, script.Hash(), "none"), "[true false]"},
		wanted{one.ScriptLoad(ctx, "return 7"), redis.NewScript("return 7").Hash()},
		wanted{one.EvalSha(ctx, redis.NewScript("return 7").Hash(), nil), "7"},
		wanted{one.EvalRO(ctx, "return redis.call('EXISTS', KEYS[1])", []string{"scripts:none"}), "0"},
		wanted{one.Eval(ctx, "return redis.error_reply('MINE of a script')", nil), "MINE of a script"},
		wanted{one.ScriptFlush(ctx), "OK"},
		wanted{one.ScriptExists(ctx, script.Hash()), "[false]"},
	)
}

func cliEval(t *testing.T, d *dev) {
	path := filepath.Join(t.TempDir(), "swap.lua")
	if err := os.WriteFile(path, []byte("redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCLI(t, d, 1, "", "v\n", "--eval", path, "scripts:cli", ",", "v")
}
