package resp

import (
	"slices"
	"strconv"
	"strings"
)

// subcommand is a line in the table of a command that is several.
type subcommand struct {
	name  string
	arity int // with both names, as that of a command
	serve func(c *conn, q query, r *reply) error
}

// container serves a command whose first argument names what is to be done.
func container(name string, table []subcommand) func(*conn, query, *reply) error {
	return func(c *conn, q query, r *reply) error {
		wanted := strings.ToLower(string(q.args[0]))
		i := slices.IndexFunc(table, func(s subcommand) bool { return s.name == wanted })
		switch {
		case wanted == "help" && len(q.args) == 1:
			helpOn(name, table, r)
			return nil
		case i < 0:
			return failure("ERR unknown subcommand '" + string(q.args[0][:min(len(q.args[0]), 128)]) + "'. Try " + strings.ToUpper(name) + " HELP.")
		case !(&command{arity: table[i].arity}).fits(1 + len(q.args)):
			return errArity(name + "|" + wanted)
		}
		return table[i].serve(c, q, r)
	}
}

func helpOn(name string, table []subcommand, r *reply) {
	r.array(len(table) + 1)
	r.simple(strings.ToUpper(name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, s := range table {
		r.simple(strings.ToUpper(s.name) + " (" + strconv.Itoa(s.arity) + ")")
	}
}
