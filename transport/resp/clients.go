package resp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringraft/ringraft/op"
)

// label is what CLIENT LIST tells of a connection and only its own goroutine changes.
type label struct {
	name  string
	lib   string // of the client, and its version
	ver   string
	proto int
	last  time.Time // when something was to be read from it
}

func (c *conn) relabel(change func(l *label)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.label)
}

func (c *conn) labelled() label {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.label
}

func clientCommands() []subcommand {
	return []subcommand{
		{"id", 2, func(c *conn, _ query, r *reply) error { r.integer(c.id); return nil }},
		{"getname", 2, clientName},
		{"setname", 3, clientSetName},
		{"setinfo", 4, clientSetInfo},
		{"info", 2, func(c *conn, _ query, r *reply) error { r.verbatim(c.describe() + "\n"); return nil }},
		{"list", -2, clientList},
		{"kill", -3, clientKill},
		{"reply", 3, clientReply},
		{"no-evict", 3, clientSwitch},
		{"no-touch", 3, clientSwitch},
	}
}

func clientName(c *conn, _ query, r *reply) error {
	if name := c.labelled().name; name != "" {
		r.text(name)
	} else {
		r.null()
	}
	return nil
}

func clientSetName(c *conn, q query, r *reply) error {
	if err := checkName(q.args[1]); err != nil {
		return err
	}
	c.relabel(func(l *label) { l.name = string(q.args[1]) })
	r.ok()
	return nil
}

func clientSetInfo(c *conn, q query, r *reply) error {
	value := string(q.args[2])
	if checkName(q.args[2]) != nil {
		return failure("ERR " + strings.ToLower(string(q.args[1])) + " cannot contain spaces, newlines or special characters.")
	}
	switch strings.ToUpper(string(q.args[1])) {
	case "LIB-NAME":
		c.relabel(func(l *label) { l.lib = value })
	case "LIB-VER":
		c.relabel(func(l *label) { l.ver = value })
	default:
		return failure("ERR Unrecognized option '" + string(q.args[1]) + "'")
	}
	r.ok()
	return nil
}

// describe returns the connection's line of CLIENT LIST.
func (c *conn) describe() string {
	l := c.labelled()
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=N db=0 sub=0 psub=0 multi=-1 user=default resp=%d lib-name=%s lib-ver=%s",
		c.id, c.conn.RemoteAddr(), c.conn.LocalAddr(), l.name, int(time.Since(c.since).Seconds()), int(time.Since(l.last).Seconds()), max(l.proto, 2), l.lib, l.ver)
}

// clientList takes TYPE and ID; all connections are of the type normal.
func clientList(c *conn, q query, r *reply) error {
	wanted := func(*conn) bool { return true }
	if len(q.args) > 1 {
		ids, err := parseClientList(q.args[1:])
		if err != nil {
			return err
		}
		wanted = func(x *conn) bool { return slices.Contains(ids, x.id) }
		if ids == nil {
			wanted = func(*conn) bool { return strings.EqualFold(string(q.args[2]), "normal") }
		}
	}
	conns := c.server.conns()
	slices.SortFunc(conns, func(a, b *conn) int { return cmp.Compare(a.id, b.id) })
	var text strings.Builder
	for _, x := range conns {
		if wanted(x) {
			text.WriteString(x.describe() + "\n")
		}
	}
	r.verbatim(text.String())
	return nil
}

// parseClientList returns the ids asked for, nil for a type.
func parseClientList(args [][]byte) (ids []int64, err error) {
	switch option := strings.ToUpper(string(args[0])); {
	case option == "TYPE" && len(args) == 2:
		switch strings.ToLower(string(args[1])) {
		case "normal", "master", "replica", "slave", "pubsub":
			return nil, nil
		}
		return nil, failure("ERR Unknown client type '" + string(args[1]) + "'")
	case option == "ID" && len(args) > 1:
		for _, a := range args[1:] {
			id, ok := parseInteger(a)
			if !ok {
				return nil, failure("ERR Invalid client ID")
			}
			ids = append(ids, id)
		}
		return ids, nil
	}
	return nil, errSyntax
}

// clientKill is the address of a connection, or filters that it must pass all.
func clientKill(c *conn, q query, r *reply) error {
	if len(q.args) == 2 {
		for _, x := range c.server.conns() {
			if x.conn.RemoteAddr().String() == string(q.args[1]) {
				c.end(x)
				r.ok()
				return nil
			}
		}
		return failure("ERR No such client")
	}
	filters, skipMe, err := parseClientKill(q.args[1:])
	if err != nil {
		return err
	}
	killed := int64(0)
	for _, x := range c.server.conns() {
		if skipMe && x == c || slices.ContainsFunc(filters, func(passes func(*conn) bool) bool { return !passes(x) }) {
			continue
		}
		c.end(x)
		killed++
	}
	r.integer(killed)
	return nil
}

// end closes a connection; this one after its answer.
func (c *conn) end(x *conn) {
	if x == c {
		c.closing = true
	} else {
		x.Close()
	}
}

func parseClientKill(args [][]byte) (filters []func(*conn) bool, skipMe bool, err error) {
	skipMe = true
	for ; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return nil, false, errSyntax
		}
		value := string(args[1])
		switch strings.ToUpper(string(args[0])) {
		case "ID":
			id, ok := parseInteger(args[1])
			if !ok || id < 1 {
				return nil, false, failure("ERR client-id should be greater than 0")
			}
			filters = append(filters, func(x *conn) bool { return x.id == id })
		case "ADDR":
			filters = append(filters, func(x *conn) bool { return x.conn.RemoteAddr().String() == value })
		case "LADDR":
			filters = append(filters, func(x *conn) bool { return x.conn.LocalAddr().String() == value })
		case "TYPE":
			filters = append(filters, func(*conn) bool { return strings.EqualFold(value, "normal") })
		case "USER":
			filters = append(filters, func(*conn) bool { return value == "default" })
		case "SKIPME":
			skipMe = strings.EqualFold(value, "yes")
			if !skipMe && !strings.EqualFold(value, "no") {
				return nil, false, errSyntax
			}
		default:
			return nil, false, errSyntax
		}
	}
	return filters, skipMe, nil
}

func clientReply(c *conn, q query, r *reply) error {
	switch strings.ToUpper(string(q.args[1])) {
	case "ON":
		c.out.silence(false, 0)
		r.ok()
	case "OFF":
		c.out.silence(true, 0)
	case "SKIP":
		c.out.silence(false, 2) // this answer and the next one
	default:
		return errSyntax
	}
	return nil
}

// clientSwitch takes ON and OFF for what connections here do not differ in.
func clientSwitch(_ *conn, q query, r *reply) error {
	switch strings.ToUpper(string(q.args[1])) {
	case "ON", "OFF":
		r.ok()
		return nil
	}
	return errSyntax
}

// majority returns how many replicas besides the leader have an acknowledged write, of
// the group that has the fewest.
func (c *conn) majority() int64 {
	least := 0
	for slot := 0; slot < op.Slots; {
		place := c.server.cfg.Node.Place(uint16(slot))
		if n := place.Replicas / 2; slot == 0 || n < least {
			least = n
		}
		slot = int(place.Last) + 1
	}
	return int64(least)
}
