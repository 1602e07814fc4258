package resp

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringraft/ringraft/op"
)

func configCommands() []subcommand {
	return []subcommand{
		{"get", -3, configGet},
		{"set", -4, configSet},
		{"resetstat", 2, func(c *conn, _ query, r *reply) error {
			c.server.handled.Store(0)
			c.server.taken.Store(0)
			r.ok()
			return nil
		}},
	}
}

// settings are what CONFIG GET tells: what clients ask for, and the cluster's own.
func (s *Server) settings() map[string]string {
	all := map[string]string{
		"appendonly": "yes", "appendfsync": "always", "save": "", "databases": "1",
		"maxmemory-policy": "allkeys-lru", "cluster-enabled": "no", "requirepass": "",
		"maxclients":         strconv.Itoa(s.cfg.MaxConns),
		"timeout":            strconv.Itoa(int(s.cfg.IdleTimeout.Seconds())),
		"proto-max-bulk-len": strconv.Itoa(maxArg),
	}
	maps.Copy(all, s.cfg.Node.Settings())
	return all
}

func configGet(c *conn, q query, r *reply) error {
	all := c.server.settings()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.ContainsFunc(q.args[1:], func(p []byte) bool { return match([]byte(strings.ToLower(string(p))), []byte(name)) }) {
			names = append(names, name)
		}
	}
	r.dict(len(names))
	for _, name := range names {
		r.text(name)
		r.text(all[name])
	}
	return nil
}

// configSet changes settings of the cluster, one by one.
func configSet(c *conn, q query, r *reply) error {
	args := q.args[1:]
	if len(args)%2 != 0 {
		return errArity("config|set")
	}
	for i := 0; i < len(args); i += 2 {
		if _, ok := c.server.cfg.Node.Settings()[strings.ToLower(string(args[i]))]; !ok {
			return failure("ERR Unknown option or number of arguments for CONFIG SET - '" + string(args[i][:min(len(args[i]), 128)]) + "'")
		}
	}
	ctx, cancel := c.limited()
	defer cancel()
	for i := 0; i < len(args); i += 2 {
		res := c.server.cfg.Node.Do(ctx, op.Request{Op: op.SetConfig{Name: strings.ToLower(string(args[i])), Value: string(args[i+1])}})
		if res.Err != nil {
			return failure("ERR CONFIG SET failed - " + res.Err.Error())
		}
	}
	r.ok()
	return nil
}
