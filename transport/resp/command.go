package resp

import (
	"strings"

	"github.com/ringraft/ringraft/op"
)

// command is a line in the table of commands. It says how the command is carried out,
// in the first way that there is: by plan, serve or steps; as part of a transaction by
// plan, steps or serve.
type command struct {
	name    string
	arity   int // arguments with the name; negative: at least as many as its opposite
	flags   string
	keys    keyRange
	counted bool // its keys follow their number, the second argument
	timed   bool // it asks for the time
	summary string

	// plan makes the one operation that a command comes to, or none if it takes more.
	plan func(q query) (op.Op, render, error)
	// steps carries out a command of several operations, as one transaction. It may be
	// run again, and answers anew each time.
	steps func(t *attempt, q query, r *reply) error
	// serve carries a command out that stands for itself, and waits for what it needs.
	serve func(c *conn, q query, r *reply) error
}

// keyRange says where a command's keys stand: from first to last in steps, a last below
// 0 counting from the end. The zero range is of a command without keys.
type keyRange struct{ first, last, step int }

var (
	oneKey  = keyRange{1, 1, 1}
	twoKeys = keyRange{1, 2, 1}
	allKeys = keyRange{1, -1, 1}
	pairs   = keyRange{1, -1, 2}
)

// of returns the keys among the arguments, the command's name being the first.
func (k keyRange) of(args [][]byte) (keys [][]byte) {
	last := k.last
	if last < 0 {
		last += len(args)
	}
	for i := k.first; k.step > 0 && i <= last && i < len(args); i += k.step {
		keys = append(keys, args[i])
	}
	return keys
}

// keysOf returns the keys among the arguments, the command's name being the first.
func (cmd *command) keysOf(args [][]byte) [][]byte {
	if !cmd.counted {
		return cmd.keys.of(args)
	}
	in, _ := parseInvocation(args[2:]) // with a wrong number there are none
	return in.Keys
}

// query is a command as it came.
type query struct {
	name string   // in lower case
	args [][]byte // without the name
	now  int64    // ms since the Unix epoch, of this node; for commands that are timed
}

// fits reports whether a command can have n arguments.
func (cmd *command) fits(n int) bool {
	return n == cmd.arity || cmd.arity < 0 && n >= -cmd.arity
}

// failure is an answer that begins with a word for clients to branch on.
type failure string

func (f failure) Error() string { return string(f) }

// The failures that many commands share, as Redis words them.
const (
	errSyntax     = failure("ERR syntax error")
	errNotInteger = failure("ERR value is not an integer or out of range")
	errNotFloat   = failure("ERR value is not a valid float")
	errOverflow   = failure("ERR increment or decrement would overflow")
	errNoSuchKey  = failure("ERR no such key")
	errOffset     = failure("ERR offset is out of range")
	errTooLong    = failure("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	errLongAnswer = failure("ERR the answer would be too long")
)

func errArity(name string) failure {
	return failure("ERR wrong number of arguments for '" + strings.ToLower(name) + "' command")
}

func errExpire(name string) failure {
	return failure("ERR invalid expire time in '" + name + "' command")
}

// failureOf says in the words of the protocol how an operation failed.
func failureOf(err *op.Error) failure {
	switch err.Kind {
	case op.KindOutOfMemory:
		return "OOM command not allowed when used memory > 'maxmemory'. " + failure(err.Error())
	case op.KindWrongNode, op.KindUnavailable:
		return "CLUSTERDOWN " + failure(err.Error())
	case op.KindLocked:
		return "TRYAGAIN " + failure(err.Error())
	case op.KindUnknown:
		return "UNKNOWN the outcome is not known: " + failure(err.Error())
	case op.KindConflict:
		if err.Field == "delta" {
			return errOverflow
		}
		return errNotInteger
	}
	return "ERR " + failure(err.Error())
}

// check answers a result's error, and reports whether there was none.
func check(r *reply, res op.Result) bool {
	if res.Err != nil {
		r.fail(string(failureOf(res.Err)))
		return false
	}
	return true
}

// has reports whether a command has a flag.
func (cmd *command) has(flag string) bool {
	for f := range strings.FieldsSeq(cmd.flags) {
		if f == flag {
			return true
		}
	}
	return false
}
