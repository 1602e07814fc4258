package resp

import (
	"context"

	"github.com/ringraft/ringraft/op"
)

// running are the operations of a connection that are under way: reads, or writes of
// different keys.
type running struct {
	writes bool
	alone  bool            // whatever comes next waits for them
	keys   map[string]bool // which they are about
}

// allows reports whether another operation may be under way at the same time.
func (r *running) allows(writes bool, key []byte) bool {
	return r.writes == writes && !r.alone && !r.keys[string(key)]
}

func (r *running) add(writes bool, key []byte) {
	if r.keys == nil {
		r.keys = map[string]bool{}
	}
	r.writes = writes
	r.keys[string(key)] = true
}

// carryOut carries a command out, or begins to.
func (c *conn) carryOut(cmd *command, q query) {
	if cmd.plan != nil {
		o, render, err := cmd.plan(q)
		switch {
		case err != nil:
			c.out.now(func(r *reply) { r.fail(err.Error()) })
			return
		case o != nil:
			c.begin(o, q.args[0], render)
			return
		}
	}
	c.await()
	r := reply{proto: c.proto}
	var err error
	if cmd.serve != nil {
		err = cmd.serve(c, q, &r)
	} else {
		err = c.transact(nil, &r, func(t *attempt, r *reply) error { return cmd.steps(t, q, r) })
	}
	if err != nil {
		r.b = r.b[:0]
		r.fail(err.Error())
	}
	c.out.now(func(out *reply) { out.b = append(out.b, r.b...) })
}

// begin hands an operation on one key to the node, once those under way allow it. A read
// at level Session that another replica answers may show more than the one here, so that
// the next command waits for it: the connection never goes back.
func (c *conn) begin(o op.Op, key []byte, render render) {
	_, reads := o.(op.Read)
	if len(c.running.keys) > 0 && (c.out.idle() || !c.running.allows(!reads, key)) {
		c.await()
	}
	place := c.spare
	if c.spare = nil; place == nil {
		place = new(answer)
	}
	place.render, place.from, place.group, place.again = render, c, c.server.cfg.Node.Group(op.SlotOf(key)), !reads
	place.req = c.session.request(o, place.group)
	c.out.later(place)
	c.server.cfg.Node.Serve(place.req, place)
	state := place.state.Load()
	if state == sent && !place.again {
		place.state.Store(awaited)
		c.spare = place
	}
	if reads && state != awaited {
		return
	}
	c.running.add(!reads, key)
	c.running.alone = reads && c.session.level == op.Session
}

// await waits for all that is under way.
func (c *conn) await() {
	c.out.drain()
	clear(c.running.keys)
	c.running.alone = false
}

// do carries out an operation of one group, and waits for its answer.
func (c *conn) do(ctx context.Context, o op.Routed) op.Result {
	group := c.server.cfg.Node.Group(o.Slot(0))
	res := c.server.cfg.Node.Do(ctx, c.session.request(o, group))
	c.session.seen.note(group, res.Index)
	return res
}

// doAll carries out operations of one group each, side by side. The results are in the
// order of the operations; the error is of the first that failed.
func (c *conn) doAll(ctx context.Context, ops []op.Routed) ([]op.Result, error) {
	results := make([]op.Result, len(ops))
	done := make(chan struct{}, len(ops))
	for i, o := range ops {
		go func() {
			results[i] = c.do(ctx, o)
			done <- struct{}{}
		}()
	}
	for range ops {
		<-done
	}
	for i := range results {
		if results[i].Err != nil {
			return nil, failureOf(results[i].Err)
		}
	}
	return results, nil
}

// limited returns a context for carrying out one command.
func (c *conn) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.server.cfg.CommandTimeout)
}
