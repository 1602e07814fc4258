package resp

import (
	"github.com/ringraft/ringraft/op"
)

const (
	// maxQueued bounds the commands of a transaction, maxQueuedBytes their arguments,
	// maxWatched the keys that are watched.
	maxQueued      = 16384
	maxQueuedBytes = maxRequest
	maxWatched     = op.MaxTxnOps
)

// multi is a connection's transaction.
type multi struct {
	open    bool // after MULTI
	spoiled bool // a command was refused: it will not happen
	queue   []queued
	bytes   int
	watched map[string]uint64 // versions by key; 0 where nothing stood
}

// queued is a command of a transaction.
type queued struct {
	cmd *command
	q   query
}

func multiCommands() []command {
	return []command{
		{name: "multi", arity: 1, flags: "noscript loading stale fast", serve: beginMulti, summary: "Starts a transaction."},
		{name: "exec", arity: 1, flags: "noscript loading stale", serve: exec, summary: "Executes all commands in a transaction."},
		{name: "discard", arity: 1, flags: "noscript loading stale fast", serve: discard, summary: "Discards a transaction."},
		{name: "watch", arity: -2, flags: "noscript loading stale fast", keys: allKeys, serve: watch, summary: "Monitors changes to keys to determine the execution of a transaction."},
		{name: "unwatch", arity: 1, flags: "noscript loading stale fast", serve: unwatch, summary: "Forgets about watched keys of a transaction."},
	}
}

// endsMulti reports whether a command is carried out at once also in a transaction.
func endsMulti(cmd *command) bool {
	switch cmd.name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return true
	}
	return false
}

// queue keeps a command for EXEC.
func (c *conn) queue(cmd *command, q query) {
	m := &c.multi
	for _, a := range q.args {
		m.bytes += len(a) + argCost
	}
	switch {
	case len(m.queue) == maxQueued || m.bytes > maxQueuedBytes:
		c.refuse("ERR the transaction is too long")
	case notInMulti(cmd.name):
		c.refuse("ERR Command not allowed inside a transaction")
	default:
		m.queue = append(m.queue, queued{cmd, q})
		c.out.now(func(r *reply) { r.simple("QUEUED") })
	}
}

// notInMulti reports whether a command cannot be undone, so that it is no part of what
// happens as a whole or not at all.
func notInMulti(name string) bool { return name == "flushall" || name == "flushdb" }

func beginMulti(c *conn, _ query, r *reply) error {
	if c.multi.open {
		return failure("ERR MULTI calls can not be nested")
	}
	c.multi.open = true
	r.ok()
	return nil
}

func discard(c *conn, _ query, r *reply) error {
	if !c.multi.open {
		return failure("ERR DISCARD without MULTI")
	}
	c.multi = multi{}
	r.ok()
	return nil
}

func unwatch(c *conn, _ query, r *reply) error {
	c.multi.watched = nil
	r.ok()
	return nil
}

func watch(c *conn, q query, r *reply) error {
	if c.multi.open {
		return failure("ERR WATCH inside MULTI is not allowed")
	}
	ctx, cancel := c.limited()
	defer cancel()
	if c.multi.watched == nil {
		c.multi.watched = map[string]uint64{}
	}
	for _, key := range q.args {
		if _, known := c.multi.watched[string(key)]; known {
			continue
		}
		if len(c.multi.watched) == maxWatched {
			return failure("ERR too many keys are watched")
		}
		res := c.newest(ctx, op.Stat{Key: key})
		if res.Err != nil {
			return failureOf(res.Err)
		}
		c.multi.watched[string(key)] = res.Version
	}
	r.ok()
	return nil
}

func exec(c *conn, _ query, r *reply) error {
	m := c.multi
	if !m.open {
		return failure("ERR EXEC without MULTI")
	}
	c.multi = multi{}
	if m.spoiled {
		return failure("EXECABORT Transaction discarded because of previous errors.")
	}
	err := c.execQueued(m, r)
	if err == errWatch {
		r.b = r.b[:0] // what an attempt has answered that did not hold
		r.nullArray()
		return nil
	}
	return err
}

// execQueued carries out a transaction: in one step, if its operations are known without
// reading anything, else by attempts.
func (c *conn) execQueued(m multi, r *reply) error {
	if txn, renders, ok := m.direct(); ok {
		if done, err := c.execDirect(m, txn, renders, r); done {
			return err
		}
	}
	return c.transact(m.watched, r, func(t *attempt, r *reply) error {
		r.array(len(m.queue))
		for _, x := range m.queue {
			if c.runIn(t, x, r); len(r.b) > c.server.cfg.MaxAnswer {
				return errLongAnswer
			}
		}
		return nil
	})
}

// direct returns the transaction that all commands come to, if each is one operation,
// and none writes a key that another one writes.
func (m *multi) direct() (txn op.Txn, renders []render, ok bool) {
	if len(m.queue) == 0 || len(m.queue) > op.MaxTxnOps {
		return txn, nil, false
	}
	written := map[string]bool{}
	for _, x := range m.queue {
		if x.cmd.plan == nil {
			return txn, nil, false
		}
		o, render, err := x.cmd.plan(x.q)
		if o == nil || err != nil {
			return txn, nil, false
		}
		key := string(x.q.args[0])
		if _, writes := o.(op.Write); writes {
			if written[key] {
				return txn, nil, false
			}
			written[key] = true
		}
		txn.Then, renders = append(txn.Then, o), append(renders, render)
	}
	txn.Compares = compares(m.watched)
	return txn, renders, true
}

// refusesOne reports whether a transaction was refused for one of its operations.
func refusesOne(k op.Kind) bool { return k == op.KindConflict || k == op.KindInvalid }

// execDirect is done unless an operation would be refused by itself: then all were, and
// each must have its own answer.
func (c *conn) execDirect(m multi, txn op.Txn, renders []render, r *reply) (done bool, err error) {
	ctx, cancel := c.limited()
	defer cancel()
	res := c.commit(ctx, txn)
	switch {
	case res.Err != nil && (refusesOne(res.Err.Kind) || worthARetry(res.Err.Kind)) && ctx.Err() == nil:
		return false, nil
	case res.Err != nil:
		return true, failureOf(res.Err)
	case res.Unmet:
		return true, errWatch
	case len(res.Results) != len(renders):
		return true, failure("UNKNOWN the transaction was carried out, but its answers are lost")
	}
	r.array(len(renders))
	for i, render := range renders {
		render(r, res.Results[i])
	}
	return true, nil
}

// runIn carries out a command as a part of a transaction. Its failure is its answer.
func (c *conn) runIn(t *attempt, x queued, r *reply) {
	start := len(r.b)
	if err := c.stepIn(t, x, r); err != nil {
		r.b = r.b[:start]
		r.fail(err.Error())
	}
}

func (c *conn) stepIn(t *attempt, x queued, r *reply) error {
	if x.cmd.plan != nil {
		o, render, err := x.cmd.plan(x.q)
		if err != nil {
			return err
		}
		if o != nil {
			if err := o.Check(op.Limits{MaxValue: op.MaxValueLimit}); err != nil {
				return failureOf(err)
			}
			render(r, t.run(o))
			return nil
		}
	}
	if x.cmd.steps != nil {
		return x.cmd.steps(t, x.q, r)
	}
	return x.cmd.serve(c, x.q, r)
}
