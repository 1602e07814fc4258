package shard

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
)

// instantRaft commits every entry at once.
type instantRaft struct{ results []op.Result }

func (r *instantRaft) Apply(entry []byte, _ time.Duration) raft.ApplyFuture {
	e, err := op.DecodeEntry(entry)
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	close(done)
	return &fakeFuture{res: r.results[:e.Len()], done: done}
}

// countdown is told of an answer.
type countdown struct{ sync.WaitGroup }

func (c *countdown) Reply(op.Result) { c.Done() }

// BenchmarkBatcher has so many writers write at once, each as soon as all have their answers, to a Raft that commits
// at once: what remains is the way through batch and tick.
func BenchmarkBatcher(b *testing.B) {
	command := commandOf(op.Set{Key: []byte("bench:123456"), Value: make([]byte, 128)})
	for _, writers := range []int{1, 64, 256, 1024} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			f := newFlusher()
			ctx, stop := context.WithCancel(context.Background())
			var flushing sync.WaitGroup
			flushing.Go(func() { f.run(ctx) })
			defer flushing.Wait()
			defer stop()
			batches := newBatcher(f, &instantRaft{make([]op.Result, entryOps)}, func() int64 { return 1 }, func(int) [][]byte { return nil },
				func(err error) *op.Error { return op.Unavailable("%v", err) }, time.Minute)
			defer batches.close()
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				var answers countdown
				answers.Add(writers)
				for range writers {
					batches.add(command, &answers)
				}
				answers.Wait()
				n += writers
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/write")
		})
	}
}
