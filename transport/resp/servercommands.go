package resp

func serverCommands() []command {
	return []command{
		{name: "info", arity: -1, flags: "loading stale", serve: serverInfo, summary: "Tells of the server."},
		{name: "config", arity: -2, flags: "admin noscript", serve: container("config", configCommands()), summary: "Tells or changes settings."},
		{name: "time", arity: 1, flags: "loading stale fast", serve: timeNow, summary: "Returns the time of the server."},
		{name: "role", arity: 1, flags: "noscript loading stale fast", serve: role, summary: "Returns the role of the server."},
		{name: "wait", arity: 3, flags: "noscript", serve: wait, summary: "Tells how many replicas have the writes."},
		{name: "waitaof", arity: 4, flags: "noscript", serve: waitAOF, summary: "Tells on how many disks the writes are."},
		{name: "slowlog", arity: -2, flags: "admin loading stale", serve: container("slowlog", emptyLog()), summary: "Has no entries."},
		{name: "latency", arity: -2, flags: "admin noscript loading stale", serve: container("latency", latencyCommands()), summary: "Has no entries."},
		{name: "acl", arity: -2, flags: "noscript loading stale", serve: container("acl", []subcommand{
			{"whoami", 2, func(_ *conn, _ query, r *reply) error { r.text("default"); return nil }},
		}), summary: "Tells of users."},
		{name: "function", arity: -2, flags: "noscript", serve: container("function", []subcommand{
			{"flush", -2, agree},
			{"list", -2, func(_ *conn, _ query, r *reply) error { r.array(0); return nil }},
		}), summary: "There are no functions."},
	}
}

// role answers as a master without replicas does: every node takes all commands.
func role(_ *conn, _ query, r *reply) error {
	r.array(3)
	r.text("master")
	r.integer(0)
	r.array(0)
	return nil
}

// wait answers at once: a write that was answered is on the disks of a majority.
func wait(c *conn, q query, r *reply) error {
	_, ok1 := parseInteger(q.args[0])
	timeout, ok2 := parseInteger(q.args[1])
	switch {
	case !ok1:
		return errNotInteger
	case !ok2:
		return failure("ERR timeout is not an integer or out of range")
	case timeout < 0:
		return failure("ERR timeout is negative")
	}
	r.integer(c.majority())
	return nil
}

func waitAOF(c *conn, q query, r *reply) error {
	for _, a := range q.args {
		if n, ok := parseInteger(a); !ok || n < 0 {
			return errNotInteger
		}
	}
	r.array(2)
	r.integer(1)
	r.integer(c.majority())
	return nil
}

func emptyLog() []subcommand {
	return []subcommand{
		{"get", -2, func(_ *conn, _ query, r *reply) error { r.array(0); return nil }},
		{"len", 2, func(_ *conn, _ query, r *reply) error { r.integer(0); return nil }},
		{"reset", 2, agree},
	}
}

func latencyCommands() []subcommand {
	nothing := func(_ *conn, _ query, r *reply) error { r.array(0); return nil }
	return []subcommand{
		{"latest", 2, nothing},
		{"history", 3, nothing},
		{"reset", -2, func(_ *conn, _ query, r *reply) error { r.integer(0); return nil }},
		{"doctor", 2, func(_ *conn, _ query, r *reply) error { r.verbatim("Nothing is recorded."); return nil }},
	}
}
