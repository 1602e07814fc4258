package script

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func redisLibrary() map[string]builtin {
	return map[string]builtin{
		"call":               callCommand,
		"pcall":              tryCommand,
		"error_reply":        errorReply,
		"status_reply":       statusReply,
		"sha1hex":            sha1Hex,
		"log":                dropLog,
		"setresp":            setProto,
		"replicate_commands": func(c call) int { return c.push(lua.LTrue) },
		"set_repl":           func(c call) int { c.int(1); return 0 },
		"acl_check_cmd":      func(c call) int { c.str(1); return c.push(lua.LTrue) },
	}
}

// callCommand is redis.call: an error that a command answers is raised.
func callCommand(c call) int {
	answer := c.command()
	if failed, ok := answer.(Failure); ok {
		c.failAs(string(failed))
	}
	return c.push(c.lua(answer))
}

// tryCommand is redis.pcall: an error that a command answers is a table.
func tryCommand(c call) int { return c.push(c.lua(c.command())) }

// command carries a command out. What the script may write as arguments the host owns.
func (c call) command() Value {
	n := c.L.GetTop()
	if n == 0 {
		return Failure("ERR Please specify at least one argument for this redis lib call")
	}
	args := make([][]byte, n)
	for i := range args {
		text := ""
		switch v := c.L.Get(i + 1).(type) {
		case lua.LString:
			text = string(v)
		case lua.LNumber:
			text = formatDigits(float64(v), 17)
		default:
			return Failure("ERR Lua redis lib command arguments must be strings or integers")
		}
		c.demand(len(text) + stringCost)
		args[i] = []byte(text)
	}
	c.budget.pause()
	answer, err := c.host.Call(args, c.proto)
	c.budget.resume()
	if err != nil {
		c.budget.end(err)
	}
	if c.budget.over != nil {
		c.fail("%v", c.budget.over)
	}
	return answer
}

// errorReply is a table that is an answer of an error. A text of one word gets a kind.
func errorReply(c call) int {
	text, ok := c.L.Get(1).(lua.LString)
	if !ok || c.L.GetTop() != 1 {
		text = "wrong number or type of arguments"
	}
	s := strings.TrimPrefix(string(text), "-")
	if !ok || !strings.Contains(s, " ") {
		s = "ERR " + s
	}
	return c.push(c.field("err", s))
}

func statusReply(c call) int {
	text, ok := c.L.Get(1).(lua.LString)
	if !ok || c.L.GetTop() != 1 {
		return c.push(c.field("err", "ERR wrong number or type of arguments"))
	}
	return c.push(c.field("ok", string(text)))
}

// field is a table of one field.
func (c call) field(name, text string) *lua.LTable {
	t := c.newTable(0, 1)
	t.RawSetString(name, c.text(text))
	return t
}

func sha1Hex(c call) int {
	if c.L.GetTop() != 1 {
		c.failAs("ERR wrong number of arguments")
	}
	s := c.str(1)
	c.room(len(s))
	c.work(len(s) / bytesPerStep)
	sum := sha1.Sum([]byte(s))
	return c.pushText(hex.EncodeToString(sum[:]))
}

// dropLog checks its arguments; a node's log is not the scripts'.
func dropLog(c call) int {
	level, ok := c.L.Get(1).(lua.LNumber)
	switch {
	case c.L.GetTop() < 2:
		c.failAs("ERR redis.log() requires two arguments or more.")
	case !ok:
		c.failAs("ERR First argument must be a number (log level).")
	case level < 0 || level > 3:
		c.failAs("ERR Invalid debug level.")
	}
	return 0
}

// setProto chooses the version of the protocol in which commands are answered.
func setProto(c call) int {
	if c.L.GetTop() != 1 {
		c.failAs("ERR redis.setresp() requires one argument.")
	}
	n, ok := c.L.Get(1).(lua.LNumber)
	if !ok || n != 2 && n != 3 {
		c.failAs("ERR RESP version must be 2 or 3.")
	}
	c.proto = int(n)
	return 0
}
