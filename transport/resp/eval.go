package resp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/transport/resp/script"
)

const (
	errNoScript = failure("NOSCRIPT No matching script. Please use EVAL.")
	errLate     = failure("ERR the script was not done in time")
)

// errManyKeys is why a script is ended that could not be one transaction.
var errManyKeys = fmt.Errorf("the script reads or writes more than %d keys", op.MaxTxnOps)

func scriptCommands() []command {
	return []command{
		{name: "eval", arity: -3, flags: "noscript stale skip_monitor no_mandatory_keys movablekeys", counted: true, steps: stepsEval, summary: "Executes a Lua script."},
		{name: "eval_ro", arity: -3, flags: "readonly noscript stale skip_monitor no_mandatory_keys movablekeys", counted: true, steps: stepsEval, summary: "Executes a Lua script that does not write."},
		{name: "evalsha", arity: -3, flags: "noscript stale skip_monitor no_mandatory_keys movablekeys", counted: true, steps: stepsEval, summary: "Executes a Lua script by its SHA-1."},
		{name: "evalsha_ro", arity: -3, flags: "readonly noscript stale skip_monitor no_mandatory_keys movablekeys", counted: true, steps: stepsEval, summary: "Executes a Lua script by its SHA-1 that does not write."},
		{name: "script", arity: -2, flags: "noscript", serve: container("script", []subcommand{
			{"exists", -3, scriptExists},
			{"flush", -2, scriptFlush},
			{"kill", 2, func(*conn, query, *reply) error { return failure("NOTBUSY No scripts in execution right now.") }},
			{"load", 3, scriptLoad},
		}), summary: "Keeps Lua scripts on this node."},
	}
}

func scriptExists(c *conn, q query, r *reply) error {
	r.array(len(q.args) - 1)
	for _, sha := range q.args[1:] {
		r.flag(c.server.scripts.find(string(sha)) != nil)
	}
	return nil
}

func scriptFlush(c *conn, q query, r *reply) error {
	if len(q.args) > 2 || len(q.args) == 2 && !strings.EqualFold(string(q.args[1]), "sync") && !strings.EqualFold(string(q.args[1]), "async") {
		return failure("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	c.server.scripts.clear()
	r.ok()
	return nil
}

func scriptLoad(c *conn, q query, r *reply) error {
	ctx, cancel := c.limited()
	defer cancel()
	s, err := c.server.scripts.load(ctx, string(q.args[1]))
	if err == nil {
		r.text(s.SHA)
	}
	return err
}

// stepsEval runs a script as a part of a transaction: its commands are steps like others.
// Where the script fails, what it did before stays done, as in Redis; where it is ended,
// nothing of it is.
func stepsEval(t *attempt, q query, r *reply) error {
	in, err := parseInvocation(q.args[1:])
	if err != nil {
		return err
	}
	s, err := t.conn.server.scripts.of(t.ctx, q)
	if err != nil {
		return err
	}
	host := &scriptHost{attempt: t, readOnly: s.ReadOnly || strings.HasSuffix(q.name, "_ro")}
	t.latest = true
	t.newest = t.newest || host.readOnly && len(t.stood) == 0 // no commit would tell
	before := t.mark()
	answer, err := t.conn.server.scripts.pool.Run(t.ctx, s, in, host)
	switch {
	case t.err != nil:
		return failureOf(t.err)
	case t.ctx.Err() != nil:
		return errLate
	case len(t.stood) > op.MaxTxnOps:
		return failure("ERR " + errManyKeys.Error()) // no commit could compare them
	case err != nil:
		t.rewind(before)
		r.fail(kindOf(err) + err.Error())
	default:
		if r.value(answer); len(r.b) > t.conn.server.cfg.MaxAnswer {
			t.rewind(before)
			return errLongAnswer
		}
	}
	return nil
}

// kindOf returns the word that begins the answer to a script that was ended.
func kindOf(err error) string {
	if errors.Is(err, script.ErrBusy) {
		return "TRYAGAIN "
	}
	return "ERR "
}

// of returns the script that a command names or brings.
func (s *scripts) of(ctx context.Context, q query) (*script.Script, error) {
	if !strings.HasPrefix(q.name, "evalsha") {
		return s.load(ctx, string(q.args[0]))
	}
	if known := s.find(string(q.args[0])); known != nil {
		return known, nil
	}
	return nil, errNoScript
}

// parseInvocation reads the number of keys, the keys, and the other arguments.
func parseInvocation(args [][]byte) (in script.Invocation, err error) {
	n, ok := parseInteger(args[0])
	switch {
	case !ok:
		return in, errNotInteger
	case n < 0:
		return in, failure("ERR Number of keys can't be negative")
	case n > int64(len(args)-1):
		return in, failure("ERR Number of keys can't be greater than number of args")
	}
	return script.Invocation{Keys: args[1 : 1+n], Args: args[1+n:]}, nil
}

// scriptHost carries out the commands of a script as steps of an attempt.
type scriptHost struct {
	*attempt
	readOnly bool
}

func (h *scriptHost) Call(args [][]byte, proto int) (script.Value, error) {
	cmd := h.conn.server.find(args[0])
	switch {
	case cmd == nil:
		return script.Failure("ERR Unknown Redis command called from script"), nil
	case !cmd.fits(len(args)):
		return script.Failure("ERR Wrong number of args calling Redis command from script"), nil
	case cmd.has("noscript") || notInMulti(cmd.name):
		return script.Failure("ERR This Redis command is not allowed from script"), nil
	case h.readOnly && cmd.has("write"):
		return script.Failure("ERR Write commands are not allowed from read-only scripts."), nil
	}
	r := reply{proto: proto}
	h.conn.runIn(h.attempt, queued{cmd, query{name: cmd.name, args: args[1:], now: h.now}}, &r)
	if h.err != nil {
		return nil, h.err
	}
	if max(len(h.stood), len(h.wrote)) > op.MaxTxnOps {
		return nil, errManyKeys
	}
	return valueOf(r.b), nil
}
