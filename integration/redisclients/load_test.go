package redisclients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	writers  = 3  // goroutines that set keys, each of them once
	adders   = 3  // goroutines that add to counters
	counters = 12 // of all groups
	// streak is how many writes without an error tell that all is well: each adder has
	// been at each counter.
	streak = 4 * (writers + adders) * counters
)

// load writes through two clients, and remembers what was acknowledged. Keys are set with
// go-redis's retries; it also repeats an INCR of which the answer was lost, which then
// counts twice, so that counters are added to without.
type load struct {
	setting, adding redis.UniversalClient
	prefix          string // of its keys

	end context.CancelFunc
	wg  sync.WaitGroup

	mu      sync.Mutex
	set     []string          // keys, of which the value is their name
	added   [counters][]int64 // the answers
	failed  [counters]int     // additions that may have happened
	errors  map[string]int    // by what they begin with
	strange error             // one that nobody has to expect
}

func newLoad(setting, adding redis.UniversalClient) *load {
	return &load{setting: setting, adding: adding, prefix: "load:" + strconv.FormatInt(time.Now().UnixNano(), 36), errors: map[string]int{}}
}

func (l *load) counter(i int) string { return fmt.Sprintf("%s:counter:%d", l.prefix, i) }

// start starts what stop stops.
func (l *load) start(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	l.end = end
	t.Cleanup(l.stop)
	for w := range writers {
		l.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%s:%d:%d", l.prefix, w, n)
				l.note(l.setting.Set(context.Background(), key, key, 0).Err(), func() { l.set = append(l.set, key) }, func() {})
			}
		})
	}
	for w := range adders {
		l.wg.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				c := i % counters
				n, err := l.adding.Incr(context.Background(), l.counter(c)).Result()
				l.note(err, func() { l.added[c] = append(l.added[c], n) }, func() { l.failed[c]++ })
			}
		})
	}
}

// stop lets what is under way have its answer. It may be called again.
func (l *load) stop() {
	l.end()
	l.wg.Wait()
}

// note keeps what came of a write. After an error it waits a little.
func (l *load) note(err error, done, failed func()) {
	l.mu.Lock()
	if err == nil {
		done()
		l.mu.Unlock()
		return
	}
	failed()
	kind, expected := kindOf(err)
	l.errors[kind]++
	if !expected && l.strange == nil {
		l.strange = err
	}
	l.mu.Unlock()
	<-time.After(5 * time.Millisecond)
}

// kindOf tells what kind of error it is, and whether clients meet it in a failover.
func kindOf(err error) (kind string, expected bool) {
	word, _, _ := strings.Cut(err.Error(), " ")
	var broken *net.OpError
	switch {
	case errors.Is(err, io.EOF) || errors.As(err, &broken):
		return "connection", true
	case slices.Contains([]string{"UNKNOWN", "CLUSTERDOWN", "TRYAGAIN"}, word):
		return word, true
	}
	return "other", false
}

// proceeds returns a probe that succeeds once there have been enough acknowledged writes
// in a row, of all keys, from now on.
func (l *load) proceeds() func() error {
	acknowledged, failed := l.counts()
	return func() error {
		a, f := l.counts()
		if f != failed {
			acknowledged, failed = a, f
		}
		if a < acknowledged+streak {
			return fmt.Errorf("%d writes since the last of %d errors", a-acknowledged, f)
		}
		return nil
	}
}

func (l *load) counts() (acknowledged, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	acknowledged = len(l.set)
	for _, answers := range l.added {
		acknowledged += len(answers)
	}
	for _, n := range l.errors {
		failed += n
	}
	return acknowledged, failed
}

// check looks through another client, which reads the latest, for all that was
// acknowledged. Load must have been stopped.
func (l *load) check(t *testing.T, c *redis.Client) {
	t.Helper()
	acknowledged, failed := l.counts()
	t.Logf("%d writes were acknowledged, %d failed: %v", acknowledged, failed, l.errors)
	if l.strange != nil {
		t.Errorf("an error that no client has to expect: %v", l.strange)
	}
	for keys := range slices.Chunk(l.set, 500) {
		values, err := c.MGet(t.Context(), keys...).Result()
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if values[i] != key {
				t.Fatalf("%s was acknowledged and is %v", key, values[i])
			}
		}
	}
	for i := range counters {
		n, err := c.Get(t.Context(), l.counter(i)).Int()
		answers := l.added[i]
		if least := len(answers); err != nil || n < least || n > least+l.failed[i] {
			t.Errorf("counter %d is %d, %v, after %d additions and %d that failed", i, n, err, least, l.failed[i])
		}
		slices.Sort(answers)
		if len(slices.Compact(answers)) != len(l.added[i]) {
			t.Errorf("counter %d: one answer was given twice", i)
		}
	}
}
