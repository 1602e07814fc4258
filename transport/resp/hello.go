package resp

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/ringraft/ringraft/op"
)

// errDBIndex is the answer to whoever asks for a second database.
const errDBIndex = failure("ERR DB index is out of range")

func connectionCommands() []command {
	return []command{
		{name: "ping", arity: -1, flags: "fast", serve: ping, summary: "Answers PONG, or what it was given."},
		{name: "echo", arity: 2, flags: "fast", serve: echo, summary: "Answers what it was given."},
		{name: "quit", arity: -1, flags: "fast noscript", serve: quit, summary: "Closes the connection."},
		{name: "reset", arity: 1, flags: "fast noscript", serve: reset, summary: "Makes the connection as new."},
		{name: "auth", arity: -2, flags: "fast noscript", serve: auth, summary: "Authenticates the connection."},
		{name: "select", arity: 2, flags: "fast", serve: selectDB, summary: "Selects the database 0."},
		{name: "hello", arity: -1, flags: "fast noscript", serve: hello, summary: "Handshakes with the server."},
		{name: "readmode", arity: -1, flags: "fast noscript", serve: readMode, summary: "Says how old the answers to reads may be."},
		{name: "readonly", arity: 1, flags: "fast", serve: agree, summary: "Every node serves reads: does nothing."},
		{name: "readwrite", arity: 1, flags: "fast", serve: agree, summary: "Every node serves reads: does nothing."},
		{name: "client", arity: -2, flags: "noscript", serve: container("client", clientCommands()), summary: "Tells of connections."},
	}
}

// agree answers OK to a command that asks for nothing that there is to do.
func agree(_ *conn, _ query, r *reply) error {
	r.ok()
	return nil
}

func ping(_ *conn, q query, r *reply) error {
	switch len(q.args) {
	case 0:
		r.simple("PONG")
	case 1:
		r.bulk(q.args[0])
	default:
		return errArity(q.name)
	}
	return nil
}

func echo(_ *conn, q query, r *reply) error {
	r.bulk(q.args[0])
	return nil
}

func quit(c *conn, _ query, r *reply) error {
	c.closing = true
	r.ok()
	return nil
}

func reset(c *conn, _ query, r *reply) error {
	c.multi = multi{}
	c.session.level, c.session.bound = op.Session, 0
	c.setProto(2)
	c.relabel(func(l *label) { l.name = "" })
	c.out.silence(false, 0)
	r.proto = 2
	r.simple("RESET")
	return nil
}

// auth knows the user default, who needs no password.
func auth(_ *conn, q query, r *reply) error {
	switch {
	case len(q.args) > 2:
		return errSyntax
	case len(q.args) == 1:
		return failure("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case string(q.args[0]) != "default":
		return failure("WRONGPASS invalid username-password pair or user is disabled.")
	}
	r.ok()
	return nil
}

func selectDB(_ *conn, q query, r *reply) error {
	n, ok := parseInteger(q.args[0])
	switch {
	case !ok:
		return errNotInteger
	case n != 0:
		return errDBIndex
	}
	r.ok()
	return nil
}

// hello is [version [AUTH user password] [SETNAME name]].
func hello(c *conn, q query, r *reply) error {
	version, args := int64(c.proto), q.args
	if len(args) > 0 {
		n, ok := parseInteger(args[0])
		switch {
		case !ok:
			return failure("ERR Protocol version is not an integer or out of range")
		case n < 2 || n > 3:
			return failure("NOPROTO unsupported protocol version")
		}
		version, args = n, args[1:]
	}
	name, named := []byte(nil), false
	for len(args) > 0 {
		switch option := strings.ToUpper(string(args[0])); {
		case option == "AUTH" && len(args) > 2:
			if err := auth(c, query{args: args[1:3]}, new(reply)); err != nil {
				return err
			}
			args = args[3:]
		case option == "SETNAME" && len(args) > 1:
			if err := checkName(args[1]); err != nil {
				return err
			}
			name, named, args = args[1], true, args[2:]
		default:
			return failure("ERR Syntax error in HELLO option '" + string(args[0][:min(len(args[0]), 128)]) + "'")
		}
	}
	if named {
		c.relabel(func(l *label) { l.name = string(name) })
	}
	c.setProto(int(version))
	c.greet(r)
	return nil
}

func (c *conn) greet(r *reply) {
	r.proto = c.proto
	r.dict(7)
	r.text("server")
	r.text("redis")
	r.text("version")
	r.text(likeRedis)
	r.text("proto")
	r.integer(int64(c.proto))
	r.text("id")
	r.integer(c.id)
	r.text("mode")
	r.text("standalone")
	r.text("role")
	r.text("master")
	r.text("modules")
	r.array(0)
}

func (c *conn) setProto(version int) {
	c.proto = version
	c.out.setProto(version)
	c.relabel(func(l *label) { l.proto = version })
}

// checkName refuses what would not be one word of CLIENT LIST.
func checkName(name []byte) error {
	if bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return failure("ERR Client names cannot contain spaces, newlines or special characters.")
	}
	return nil
}

// readMode sets the level of the connection's reads, or tells it.
func readMode(c *conn, q query, r *reply) error {
	if len(q.args) == 0 {
		r.text(c.session.mode())
		return nil
	}
	level, bound, err := parseReadMode(q.args)
	if err != nil {
		return err
	}
	c.session.level, c.session.bound = level, bound
	r.ok()
	return nil
}

func parseReadMode(args [][]byte) (level op.Level, bound uint64, err error) {
	const usage = failure("ERR READMODE is local, session, bounded <ms> or linearizable")
	name := strings.ToLower(string(args[0]))
	for _, l := range []op.Level{op.Local, op.Session, op.Linearizable} {
		if name == l.String() && len(args) == 1 {
			return l, 0, nil
		}
	}
	if name != op.Bounded.String() || len(args) != 2 {
		return 0, 0, usage
	}
	ms, ok := parseInteger(args[1])
	if !ok || ms < 1 || ms > op.MaxBound {
		return 0, 0, failure("ERR READMODE bounded takes 1 to " + strconv.Itoa(op.MaxBound) + " ms")
	}
	return op.Bounded, uint64(ms), nil
}

// mode returns the arguments of READMODE that ask for the level.
func (s *session) mode() string {
	if s.level == op.Bounded {
		return s.level.String() + " " + strconv.FormatUint(s.bound, 10)
	}
	return s.level.String()
}

// timeNow is the command TIME.
func timeNow(_ *conn, _ query, r *reply) error {
	now := time.Now()
	r.array(2)
	r.text(strconv.FormatInt(now.Unix(), 10))
	r.text(strconv.Itoa(now.Nanosecond() / 1000))
	return nil
}
