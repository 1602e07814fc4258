package redisclients

import (
	"strings"
	"testing"
)

// benchmark runs redis-benchmark in several ways, which must all come to figures.
func benchmark(t *testing.T, d *dev) {
	d.allLead(t)
	// Keys are many, so that MSETs of keys of several groups, which are transactions, rarely
	// meet: on a slow machine one that always does ends with TRYAGAIN.
	for _, flags := range []string{"", "-P 16", "--threads 2", "-r 1000000", "-3", "--cluster"} {
		args := append([]string{"-p", d.port(1), "-t", "ping,set,get,incr,mset", "-n", "1000", "--csv"}, strings.Fields(flags)...)
		out := undisturbed(t, "redis-benchmark", "", args...)
		for _, row := range []string{"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)"} {
			has(t, "redis-benchmark "+flags, out, "\n\""+row+"\",\"")
		}
		for _, word := range []string{"rror", "ERR", "WARN"} {
			if strings.Contains(out, word) {
				t.Errorf("redis-benchmark %s: %s", flags, out)
			}
		}
	}
}
