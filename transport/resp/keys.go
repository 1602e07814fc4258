package resp

import (
	"strings"

	"github.com/ringraft/ringraft/op"
)

func keyCommands() []command {
	return []command{
		{name: "del", arity: -2, flags: "write", keys: allKeys, plan: planDel, serve: del, steps: stepsDel, summary: "Deletes keys."},
		{name: "unlink", arity: -2, flags: "write fast", keys: allKeys, plan: planDel, serve: del, steps: stepsDel, summary: "Deletes keys."},
		{name: "exists", arity: -2, flags: "readonly fast", keys: allKeys, plan: planExists, serve: exists, steps: stepsExists, summary: "Counts the keys that exist."},
		{name: "touch", arity: -2, flags: "readonly fast", keys: allKeys, plan: planExists, serve: exists, steps: stepsExists, summary: "Counts the keys that exist."},
		{name: "type", arity: 2, flags: "readonly fast", keys: oneKey, plan: planType, summary: "Tells the type of the value at a key."},
		{name: "scan", arity: -2, flags: "readonly", serve: scan, summary: "Iterates over the keys."},
		{name: "keys", arity: 2, flags: "readonly", serve: keys, summary: "Returns all keys of a pattern."},
		{name: "randomkey", arity: 1, flags: "readonly", serve: randomKey, summary: "Returns some key."},
		{name: "dbsize", arity: 1, flags: "readonly fast", serve: dbSize, summary: "Returns the number of keys."},
		{name: "flushall", arity: -1, flags: "write", serve: flush, summary: "Removes all keys."},
		{name: "flushdb", arity: -1, flags: "write", serve: flush, summary: "Removes all keys."},
		{name: "rename", arity: 3, flags: "write", keys: twoKeys, steps: stepsRename, summary: "Renames a key and overwrites the destination."},
		{name: "renamenx", arity: 3, flags: "write fast", keys: twoKeys, steps: stepsRename, summary: "Renames a key unless the destination exists."},
		{name: "copy", arity: -3, flags: "write denyoom", keys: twoKeys, steps: stepsCopy, summary: "Copies the value of a key."},
		{name: "object", arity: -2, flags: "readonly", keys: keyRange{2, 2, 1}, serve: container("object", objectCommands()), summary: "Tells internals of values."},
		{name: "memory", arity: -2, flags: "readonly", keys: keyRange{2, 2, 1}, serve: container("memory", memoryCommands()), summary: "Tells the memory of keys."},
		{name: "mget", arity: -2, flags: "readonly fast", keys: allKeys, serve: mget, steps: stepsMGet, summary: "Returns the values of keys."},
		{name: "mset", arity: -3, flags: "write denyoom", keys: pairs, steps: stepsMSet, summary: "Sets the values of keys, all or none."},
		{name: "msetnx", arity: -3, flags: "write denyoom", keys: pairs, steps: stepsMSet, summary: "Sets the values of keys when none exists."},
	}
}

func planType(q query) (op.Op, render, error) {
	return op.Stat{Key: q.args[0]}, func(r *reply, res op.Result) {
		switch {
		case !check(r, res):
		case res.Found:
			r.simple("string")
		default:
			r.simple("none")
		}
	}, nil
}

func stepsRename(t *attempt, q query, r *reply) error {
	rec, found := t.Lookup(q.args[0])
	if !found {
		return errNoSuchKey
	}
	onlyNew := q.name == "renamenx"
	same := string(q.args[0]) == string(q.args[1])
	taken := same
	if onlyNew && !same {
		_, taken = t.Lookup(q.args[1])
	}
	if onlyNew {
		r.flag(!taken)
	} else {
		r.ok()
	}
	if same || onlyNew && taken {
		return nil
	}
	if err := t.put(q.args[1], rec.Value, rec.Deadline); err != nil {
		return err
	}
	t.Remove(q.args[0])
	return nil
}

func stepsCopy(t *attempt, q query, r *reply) error {
	replace := false
	for args := q.args[2:]; len(args) > 0; args = args[1:] {
		switch option := strings.ToUpper(string(args[0])); {
		case option == "REPLACE":
			replace = true
		case option == "DB" && len(args) > 1:
			if n, ok := parseInteger(args[1]); !ok {
				return errNotInteger
			} else if n != 0 {
				return errDBIndex
			}
			args = args[1:]
		default:
			return errSyntax
		}
	}
	if string(q.args[0]) == string(q.args[1]) {
		return failure("ERR source and destination objects are the same")
	}
	rec, found := t.Lookup(q.args[0])
	if found && !replace {
		_, taken := t.Lookup(q.args[1])
		found = !taken
	}
	r.flag(found)
	if !found {
		return nil
	}
	return t.put(q.args[1], rec.Value, rec.Deadline)
}
