package integration

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// largestWrites are operations at the limits, whose keys share a slot, and the values
// they leave behind.
func largestWrites() (writes []op.Op, want map[string][]byte) {
	want = map[string][]byte{}
	tagged := func(name string, size int) []byte {
		return append([]byte("{limits}"+name), bytes.Repeat([]byte("k"), size-len("{limits}"+name))...)
	}
	value := func(seed byte, size int) []byte {
		v := bytes.Repeat([]byte{seed}, size)
		copy(v, "first")
		return v
	}
	set := op.Set{Key: tagged("much", op.MaxKey), Value: value(1, op.MaxValueLimit), TTL: op.MaxTTL, Protect: true}
	want[string(set.Key)] = set.Value
	mset := op.MSet{TTL: op.MaxTTL, Protect: true}
	for i := range op.MaxKeys {
		key := tagged(fmt.Sprintf("many-%04d", i), 20)
		p := op.Pair{Key: key, Value: value(byte(i), op.MaxPayload/op.MaxKeys-len(key))}
		mset.Pairs = append(mset.Pairs, p)
		want[string(key)] = p.Value
	}
	two := op.MSet{Pairs: []op.Pair{
		{Key: tagged("two-0", op.MaxKey/2), Value: value(2, op.MaxValueLimit/2)},
		{Key: tagged("two-1", op.MaxKey/2), Value: value(3, op.MaxValueLimit/2)},
	}}
	for _, p := range two.Pairs {
		want[string(p.Key)] = p.Value
	}
	return []op.Op{set, mset, two}, want
}

// overLimit are the same, a byte larger.
func overLimit() []op.Op {
	writes, _ := largestWrites()
	set, mset := writes[0].(op.Set), writes[1].(op.MSet)
	longKey, manyKeys := set, mset
	set.Value = append(bytes.Clone(set.Value), 0)
	longKey.Key = append(bytes.Clone(longKey.Key), 'k')
	manyKeys.Pairs = append(manyKeys.Pairs[:len(manyKeys.Pairs):len(manyKeys.Pairs)], op.Pair{Key: []byte("{limits}one more")})
	last := len(mset.Pairs) - 1
	mset.Pairs = append([]op.Pair(nil), mset.Pairs...)
	mset.Pairs[last].Value = append(bytes.Clone(mset.Pairs[last].Value), make([]byte, op.MaxPayload%op.MaxKeys+1)...)
	return []op.Op{set, longKey, manyKeys, mset}
}

// TestSimLargestWritesReachEveryReplica, by the log, by a snapshot and after a restart.
func TestSimLargestWritesReachEveryReplica(t *testing.T) {
	simulateShortLogs(t, 1, func(t *testing.T, c *simCluster) {
		writes, want := largestWrites()
		if _, err := c.try(writes[0], op.Local); !errors.Is(err, op.ErrRefused) {
			t.Errorf("the largest value before the limit is raised: %v, want it refused", err)
		}
		c.do(op.SetConfig{Name: "max-value-bytes", Value: "16MiB"}, op.Local)
		time.Sleep(time.Second)
		late := c.follower(0, 1)
		c.halt(late)
		for _, o := range writes {
			c.do(o, op.Local)
		}
		index := c.replicaStatus(c.leader(1), 1).Applied
		for _, o := range overLimit() {
			if res := c.at(c.leader(1), o, op.Local); !errors.Is(res.Err, op.ErrRefused) {
				t.Errorf("%s over the limit: %v, want it refused", o.Code(), res.Err)
			}
		}
		if now := c.replicaStatus(c.leader(1), 1).Applied; now != index {
			t.Errorf("refused writes took the log from index %d to %d", index, now)
		}
		c.fillLog("{limits}small", 2*fewEntries) // until a snapshot has taken the place of the log
		c.restart(late)
		c.checkDigests()
		c.wantValues(want)

		c.do(op.SetConfig{Name: "max-value-bytes", Value: "1"}, op.Local) // what is there stays, and can be read
		for _, m := range c.init {
			c.halt(m.ID)
		}
		for _, m := range c.init {
			c.restart(m.ID)
		}
		c.waitReady()
		c.checkDigests()
		c.wantValues(want)
	})
}

// wantValues fails the test unless every node holds the values, by itself and in a scan.
func (c *simCluster) wantValues(want map[string][]byte) {
	c.t.Helper()
	for _, m := range c.init {
		for key, value := range want {
			if res := c.at(m.ID, op.Get{Key: []byte(key)}, op.Local); !bytes.Equal(res.Value, value) {
				c.t.Fatalf("%s: %.30s… has %d bytes (%v), want %d", m.ID, key, len(res.Value), res.Err, len(value))
			}
		}
		slot, found := op.SlotOf([]byte("{limits}")), 0
		for cursor := op.ScanCursor(slot, nil); len(cursor) > 0; {
			res := c.at(m.ID, op.Scan{Cursor: cursor, Last: slot, Limit: op.MaxKeys, Values: true}, op.Local)
			if n := len(res.AppendTo(nil)); res.Err != nil || n > op.MaxMessage {
				c.t.Fatalf("%s: a page of %d bytes, %v", m.ID, n, res.Err)
			}
			for _, item := range res.Items {
				if value, ok := want[string(item.Key)]; ok && bytes.Equal(item.Value, value) {
					found++
				}
			}
			cursor = res.Next
		}
		if found != len(want) {
			c.t.Errorf("%s: a scan found %d of %d values", m.ID, found, len(want))
		}
	}
}
