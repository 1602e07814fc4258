package resp

import (
	"context"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// recordCost is what a record costs beyond its key and value, in logical bytes.
const recordCost = 64

func objectCommands() []subcommand {
	return []subcommand{
		{"encoding", 3, objectOf(func(r *reply, value []byte) { r.text(encodingOf(value)) })},
		{"refcount", 3, objectOf(func(r *reply, _ []byte) { r.integer(1) })},
		{"idletime", 3, objectOf(func(r *reply, _ []byte) { r.integer(0) })},
		{"freq", 3, func(*conn, query, *reply) error {
			return failure("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
		}},
	}
}

// objectOf answers what tell says of the value at the key, if there is one.
func objectOf(tell func(r *reply, value []byte)) func(*conn, query, *reply) error {
	return func(c *conn, q query, r *reply) error {
		return c.found(op.Get{Key: q.args[1]}, r, func(res op.Result) { tell(r, res.Value) })
	}
}

// found asks o, and answers by tell if something stands at its key.
func (c *conn) found(o op.Routed, r *reply, tell func(op.Result)) error {
	ctx, cancel := c.limited()
	defer cancel()
	res := c.do(ctx, o)
	switch {
	case res.Err != nil:
		return failureOf(res.Err)
	case !res.Found:
		r.null()
	default:
		tell(res)
	}
	return nil
}

// encodingOf returns how Redis would keep a value that was set.
func encodingOf(value []byte) string {
	if _, ok := parseInteger(value); ok {
		return "int"
	}
	if len(value) <= 44 {
		return "embstr"
	}
	return "raw"
}

func memoryCommands() []subcommand {
	return []subcommand{
		{"usage", -3, func(c *conn, q query, r *reply) error {
			if n := len(q.args); n != 2 && (n != 4 || !strings.EqualFold(string(q.args[2]), "samples")) {
				return errSyntax
			}
			return c.found(op.Stat{Key: q.args[1]}, r, func(res op.Result) {
				r.integer(int64(len(q.args[1])) + res.Number + recordCost)
			})
		}},
		{"doctor", 2, func(_ *conn, _ query, r *reply) error { r.verbatim("Nothing to say."); return nil }},
	}
}

// dbSize counts what the leaders have, or those who are ahead where nobody leads.
func dbSize(c *conn, _ query, r *reply) error {
	ctx, cancel := c.limited()
	defer cancel()
	n, err := c.countKeys(ctx)
	r.integer(n)
	return err
}

func (c *conn) countKeys(ctx context.Context) (n int64, err error) {
	nodes, err := c.server.statuses(ctx)
	if err != nil {
		return 0, err
	}
	best := map[uint64]op.ReplicaStatus{}
	for _, node := range nodes {
		for _, at := range node.Replicas {
			if old, known := best[at.Group]; !known || ahead(at, old) {
				best[at.Group] = at
			}
		}
	}
	for group, at := range best {
		if group != 0 {
			n += at.Keys
		}
	}
	return n, nil
}

func ahead(a, b op.ReplicaStatus) bool {
	if lead := a.Role == "leader"; lead != (b.Role == "leader") {
		return lead
	}
	return a.Term > b.Term || a.Term == b.Term && a.Applied > b.Applied
}
