package resp

import (
	"maps"
	"slices"
	"strings"
)

// commandTable returns all commands by their names, in lower case.
func commandTable() map[string]*command {
	table := map[string]*command{}
	for _, list := range [][]command{
		stringCommands(), keyCommands(), expiryCommands(), multiCommands(), scriptCommands(), connectionCommands(), serverCommands(),
		{
			{name: "cluster", arity: -2, flags: "loading stale", serve: container("cluster", clusterCommands()), summary: "Tells of the cluster, to clients in cluster mode."},
			{name: "command", arity: -1, flags: "loading stale", serve: commandInfo, summary: "Tells of commands."},
		},
	} {
		for _, cmd := range list {
			table[cmd.name] = &cmd
		}
	}
	return table
}

// commandInfo is COMMAND and its subcommands.
func commandInfo(c *conn, q query, r *reply) error {
	if len(q.args) == 0 {
		names := slices.Sorted(maps.Keys(c.server.commands))
		r.array(len(names))
		for _, name := range names {
			c.server.commands[name].describe(r)
		}
		return nil
	}
	return container("command", []subcommand{
		{"count", 2, func(c *conn, _ query, r *reply) error { r.integer(int64(len(c.server.commands))); return nil }},
		{"list", -2, commandList},
		{"info", -2, commandDescribe},
		{"docs", -2, commandDocs},
		{"getkeys", -4, commandGetKeys},
	})(c, q, r)
}

func commandList(c *conn, q query, r *reply) error {
	names := slices.Sorted(maps.Keys(c.server.commands))
	switch n := len(q.args); {
	case n == 1:
	case n == 4 && strings.EqualFold(string(q.args[1]), "filterby") && strings.EqualFold(string(q.args[2]), "pattern"):
		names = slices.DeleteFunc(names, func(name string) bool { return !match(q.args[3], []byte(name)) })
	default:
		return errSyntax
	}
	r.array(len(names))
	for _, name := range names {
		r.text(name)
	}
	return nil
}

func commandDescribe(c *conn, q query, r *reply) error {
	asked := q.args[1:]
	if len(asked) == 0 {
		return commandInfo(c, query{name: q.name}, r)
	}
	r.array(len(asked))
	for _, name := range asked {
		if cmd := c.server.find(name); cmd != nil {
			cmd.describe(r)
		} else {
			r.nullArray()
		}
	}
	return nil
}

// describe appends what COMMAND tells: name, arity, flags, keys; no categories, tips,
// key specifications or subcommands.
func (cmd *command) describe(r *reply) {
	flags := strings.Fields(cmd.flags)
	r.array(10)
	r.text(cmd.name)
	r.integer(int64(cmd.arity))
	r.set(len(flags))
	for _, f := range flags {
		r.simple(f)
	}
	r.integer(int64(cmd.keys.first))
	r.integer(int64(cmd.keys.last))
	r.integer(int64(cmd.keys.step))
	r.set(0)
	r.array(0)
	r.array(0)
	r.array(0)
}

func commandDocs(c *conn, q query, r *reply) error {
	var known []*command
	for _, name := range q.args[1:] {
		if cmd := c.server.find(name); cmd != nil {
			known = append(known, cmd)
		}
	}
	if len(q.args) == 1 {
		for _, name := range slices.Sorted(maps.Keys(c.server.commands)) {
			known = append(known, c.server.commands[name])
		}
	}
	r.dict(len(known))
	for _, cmd := range known {
		r.text(cmd.name)
		r.dict(1)
		r.text("summary")
		r.text(cmd.summary)
	}
	return nil
}

func commandGetKeys(c *conn, q query, r *reply) error {
	args := q.args[1:]
	cmd := c.server.find(args[0])
	switch {
	case cmd == nil:
		return failure("ERR Invalid command specified")
	case cmd.keys.step == 0 && !cmd.counted:
		return failure("ERR The command has no key arguments")
	case !cmd.fits(len(args)):
		return failure("ERR Invalid number of arguments specified for command")
	}
	r.bulks(cmd.keysOf(args))
	return nil
}
