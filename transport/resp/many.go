package resp

import (
	"context"
	"slices"

	"github.com/ringraft/ringraft/op"
)

func planDel(q query) (op.Op, render, error) {
	if len(q.args) > 1 {
		return nil, nil, nil
	}
	return op.Delete{Key: q.args[0]}, renderFound, nil
}

func del(c *conn, q query, r *reply) error {
	ctx, cancel := c.limited()
	defer cancel()
	n, err := c.deleteAll(ctx, q.args)
	r.integer(n)
	return err
}

// deleteAll removes keys, those of each group in one step, and returns how many there
// were.
func (c *conn) deleteAll(ctx context.Context, keys [][]byte) (n int64, err error) {
	var ops []op.Routed
	for _, part := range c.byGroup(keys) {
		o := op.MDelete{}
		for _, i := range part {
			o.Keys = append(o.Keys, keys[i])
		}
		ops = append(ops, o)
	}
	results, err := c.doAll(ctx, ops)
	for i := range results {
		n += results[i].Number
	}
	return n, err
}

// byGroup returns the places of keys, those of one group together, op.MaxKeys at most.
func (c *conn) byGroup(keys [][]byte) (parts [][]int) {
	open := map[uint64]int{} // by group, the part that is not full
	for i, key := range keys {
		group := c.server.cfg.Node.Group(op.SlotOf(key))
		n, ok := open[group]
		if !ok || len(parts[n]) == op.MaxKeys {
			n = len(parts)
			open[group] = n
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], i)
	}
	return parts
}

func stepsDel(t *attempt, q query, r *reply) error {
	n := int64(0)
	for _, key := range q.args {
		if _, existed := t.Remove(key); existed {
			n++
		}
	}
	r.integer(n)
	return nil
}

func planExists(q query) (op.Op, render, error) {
	if len(q.args) > 1 {
		return nil, nil, nil
	}
	return op.Stat{Key: q.args[0]}, renderFound, nil
}

func exists(c *conn, q query, r *reply) error {
	const together = 128
	ctx, cancel := c.limited()
	defer cancel()
	n := int64(0)
	for chunk := range slices.Chunk(q.args, together) {
		ops := make([]op.Routed, len(chunk))
		for i, key := range chunk {
			ops[i] = op.Stat{Key: key}
		}
		results, err := c.doAll(ctx, ops)
		if err != nil {
			return err
		}
		for i := range results {
			if results[i].Found {
				n++
			}
		}
	}
	r.integer(n)
	return nil
}

func stepsExists(t *attempt, q query, r *reply) error {
	n := int64(0)
	for _, key := range q.args {
		if _, found := t.Lookup(key); found {
			n++
		}
	}
	r.integer(n)
	return nil
}

// partsTogether is how many parts of an MGET are under way at once. Each brings up to
// op.MaxPayload bytes.
const partsTogether = 16

func mget(c *conn, q query, r *reply) error {
	ctx, cancel := c.limited()
	defer cancel()
	items := make([]op.Item, len(q.args))
	size := 0
	for parts := range slices.Chunk(c.byGroup(q.args), partsTogether) {
		ops := make([]op.Routed, len(parts))
		for n, part := range parts {
			o := op.MGet{}
			for _, i := range part {
				o.Keys = append(o.Keys, q.args[i])
			}
			ops[n] = o
		}
		results, err := c.doAll(ctx, ops)
		if err != nil {
			return err
		}
		for n, part := range parts {
			size += results[n].Payload()
			for k, i := range part {
				items[i] = results[n].Items[k]
			}
		}
		if size > c.server.cfg.MaxAnswer {
			return errLongAnswer
		}
	}
	r.array(len(items))
	for i := range items {
		if items[i].Found {
			r.bulk(items[i].Value)
		} else {
			r.null()
		}
	}
	return nil
}

func stepsMGet(t *attempt, q query, r *reply) error {
	r.array(len(q.args))
	for _, key := range q.args {
		if rec, found := t.Lookup(key); found {
			r.bulk(rec.Value)
		} else {
			r.null()
		}
	}
	return nil
}

func stepsMSet(t *attempt, q query, r *reply) error {
	if len(q.args)%2 != 0 {
		return errArity(q.name)
	}
	for i := 0; q.name == "msetnx" && i < len(q.args); i += 2 {
		if _, found := t.Lookup(q.args[i]); found {
			r.flag(false)
			return nil
		}
	}
	for i := 0; i < len(q.args); i += 2 {
		if err := t.put(q.args[i], q.args[i+1], 0); err != nil {
			return err
		}
	}
	if q.name == "msetnx" {
		r.flag(true)
	} else {
		r.ok()
	}
	return nil
}
