package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
)

// bare is the bound of writes: three processes that send entries to each other and store
// them, and do nothing else. See the program bare.
const bare = "bare"

func startBare(_ context.Context, l *lab) (*cluster, error) {
	dir, err := l.directory()
	return &cluster{lab: l, loader: bare, loadArgs: []string{"--dir", dir}}, err
}

// bareEntries are as long as those of Ringraft that 256 clients fill: of one group, and of
// groups that three nodes lead.
func bareEntries() []measure {
	entriesOf := func(leaders, bytes int) measure {
		name := fmt.Sprintf("%d leading, entries of %s bytes", leaders, commas(float64(bytes)))
		return measure{name, []string{opsPerS, cpuOfEach}, func(ctx context.Context, c *cluster) ([]reading, error) {
			r, err := c.load(ctx, c.lab.duration, warmup, "--leaders", strconv.Itoa(leaders), "--bytes", strconv.Itoa(bytes))
			if err != nil {
				return nil, err
			}
			if r.busy == nil {
				return nil, skipped{"how busy the processors are cannot be seen here"}
			}
			spent := float64(runtime.NumCPU()) * (100 - r.busy.idle) * 1e4 // µs of CPU in a second
			return []reading{r.read(opsPerS, r.OpsPerS), r.read(cpuOfEach, spent/r.OpsPerS)}, nil
		}}
	}
	return []measure{entriesOf(1, 32_000), entriesOf(3, 12_000)}
}
