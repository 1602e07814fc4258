package redisclients

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// spread returns a client whose connections go to all nodes in turn: to a lock library
// the cluster is one server.
func (d *dev) spread(t *testing.T) *redis.Client {
	t.Helper()
	var opened atomic.Int64
	return open(t, redis.NewClient(&redis.Options{
		Addr: "any",
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.dialAny(ctx, network, 1+int(opened.Add(1)-1)%nodes)
		},
	}))
}

// exclusive has several holders take a lock in turn, again and again, and fails the test
// if two hold it at once. take returns what releases it.
func exclusive(t *testing.T, take func(ctx context.Context) (release func() error, err error)) {
	t.Helper()
	const holders, each = 5, 5
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var inside atomic.Int32
	done := make(chan error, holders)
	for range holders {
		go func() {
			done <- func() error {
				for range each {
					release, err := take(ctx)
					if err != nil {
						return fmt.Errorf("taking the lock: %w", err)
					}
					if n := inside.Add(1); n != 1 {
						return fmt.Errorf("%d hold the lock at once", n)
					}
					<-time.After(time.Millisecond)
					inside.Add(-1)
					if err := release(); err != nil {
						return fmt.Errorf("releasing the lock: %w", err)
					}
				}
				return nil
			}()
		}()
	}
	for range holders {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func redsyncLocks(t *testing.T, d *dev) {
	locks := redsync.New(goredis.NewPool(d.spread(t)))
	lock := func(name string, options ...redsync.Option) *redsync.Mutex {
		return locks.NewMutex("redsync:"+name, append([]redsync.Option{redsync.WithExpiry(time.Minute), redsync.WithTries(1000), redsync.WithRetryDelay(10 * time.Millisecond)}, options...)...)
	}
	first, second := lock("a"), lock("a")
	if err := first.LockContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var taken *redsync.ErrTaken
	if err := second.TryLockContext(t.Context()); !errors.As(err, &taken) {
		t.Errorf("a lock that is held was taken: %v", err)
	}
	if ok, err := second.UnlockContext(t.Context()); ok {
		t.Errorf("who does not hold the lock released it, %v", err)
	}
	if ok, err := first.ExtendContext(t.Context()); !ok || err != nil {
		t.Errorf("extend: %v, %v", ok, err)
	}
	if ok, err := first.UnlockContext(t.Context()); !ok || err != nil {
		t.Errorf("release: %v, %v", ok, err)
	}
	if ok, err := first.ExtendContext(t.Context()); ok {
		t.Errorf("a released lock was extended, %v", err)
	}
	if err := second.TryLockContext(t.Context()); err != nil {
		t.Errorf("a lock that is free: %v", err)
	}
	brief := lock("brief", redsync.WithExpiry(100*time.Millisecond))
	after := lock("brief")
	if err := brief.LockContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := after.LockContext(t.Context()); err != nil {
		t.Fatalf("a lock that has ended: %v", err)
	}
	if ok, err := brief.UnlockContext(t.Context()); ok {
		t.Errorf("a lock that has ended, and that another holds, was released, %v", err)
	}
	if ok, err := after.UnlockContext(t.Context()); !ok || err != nil {
		t.Errorf("release by its holder: %v, %v", ok, err)
	}
	exclusive(t, func(ctx context.Context) (func() error, error) {
		m := lock("exclusive")
		return func() error { _, err := m.UnlockContext(ctx); return err }, m.LockContext(ctx)
	})
}

func redislockLocks(t *testing.T, d *dev) {
	ctx, locks := t.Context(), redislock.New(d.spread(t))
	first, err := locks.Obtain(ctx, "redislock:a", time.Minute, &redislock.Options{Metadata: "of first"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locks.Obtain(ctx, "redislock:a", time.Minute, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("a lock that is held: %v", err)
	}
	if err := first.Refresh(ctx, time.Hour, nil); err != nil {
		t.Errorf("refresh: %v", err)
	}
	if left, err := first.TTL(ctx); err != nil || left <= time.Minute || left > time.Hour {
		t.Errorf("time to live: %v, %v; want nearly an hour", left, err)
	}
	if first.Metadata() != "of first" {
		t.Errorf("metadata %q", first.Metadata())
	}
	if err := first.Release(ctx); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := first.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("a released lock, again: %v", err)
	}
	wait := &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)}
	brief, err := locks.Obtain(ctx, "redislock:brief", 100*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	obtain := func(ctx context.Context, key string) (*redislock.Lock, error) {
		ctx, cancel := context.WithTimeout(ctx, patience) // without one it waits for the lock's time to live
		defer cancel()
		return locks.Obtain(ctx, key, time.Minute, wait)
	}
	after, err := obtain(ctx, "redislock:brief")
	if err != nil {
		t.Fatalf("a lock that has ended: %v", err)
	}
	if err := brief.Refresh(ctx, time.Minute, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("a lock that has ended was refreshed: %v", err)
	}
	if err := brief.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("a lock that has ended was released: %v", err)
	}
	if err := after.Release(ctx); err != nil {
		t.Errorf("release by its holder: %v", err)
	}
	exclusive(t, func(ctx context.Context) (func() error, error) {
		lock, err := obtain(ctx, "redislock:exclusive")
		return func() error { return lock.Release(ctx) }, err
	})
}
