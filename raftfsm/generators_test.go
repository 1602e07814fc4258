package raftfsm

import (
	"bytes"
	"strings"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

var someKeys = []string{"a", "b", "c", "d", "e", "f", "{s}a", "{s}b", "{s}c", "{s}d", "{u}a", "{u}b", "long" + strings.Repeat("g", 60)}

// anyKey returns keys of random operations: few, so that they meet, and some in one
// slot.
func anyKey() *rapid.Generator[[]byte] {
	return rapid.Map(rapid.SampledFrom(someKeys), func(k string) []byte { return []byte(k) })
}

func anyValue() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 300), func(n int) []byte { return bytes.Repeat([]byte{'v'}, n) }),
		rapid.SliceOfN(rapid.Byte(), 0, 8),
		rapid.Just([]byte("17")),
	)
}

func anyTTL() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 60))
}

func anyCond() *rapid.Generator[op.Cond] {
	return rapid.Custom(func(t *rapid.T) op.Cond {
		c := op.Cond{Kind: op.CondKind(max(0, rapid.IntRange(-6, 4).Draw(t, "cond"))), Show: rapid.Bool().Draw(t, "show")}
		switch c.Kind {
		case op.CondVersion:
			c.Version = rapid.Uint64Range(1, 8).Draw(t, "if version")
		case op.CondValue:
			c.Value = rapid.OneOf(rapid.Just([]byte("17")), rapid.Just([]byte{}), anyValue()).Draw(t, "if value")
		}
		return c
	})
}

func anyAdd() *rapid.Generator[op.Add] {
	return rapid.Custom(func(t *rapid.T) op.Add {
		o := op.Add{Key: anyKey().Draw(t, "key"), Cond: anyCond().Draw(t, "cond")}
		o.Delta = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-20, 20)).Draw(t, "delta")
		least, most := rapid.Int64Range(-50, 0).Draw(t, "min"), rapid.Int64Range(0, 50).Draw(t, "max")
		switch rapid.IntRange(0, 3).Draw(t, "bounds") {
		case 1:
			o.Min = &least
		case 2:
			o.Max = &most
		case 3:
			o.Min, o.Max = &least, &most
		}
		o.Clamp = (o.Min != nil || o.Max != nil) && rapid.Bool().Draw(t, "clamp")
		o.TTL = anyTTL().Draw(t, "ttl")
		return o
	})
}

// anyPart returns operations that can be part of a transaction.
func anyPart() *rapid.Generator[op.Op] {
	return rapid.Custom(func(t *rapid.T) op.Op {
		key, cond := anyKey().Draw(t, "key"), anyCond().Draw(t, "cond")
		if rapid.Bool().Draw(t, "plain") {
			cond = op.Cond{}
		}
		switch rapid.IntRange(0, 8).Draw(t, "part") {
		case 0, 1, 2:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), TTL: anyTTL().Draw(t, "ttl"), Cond: cond}
		case 3:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), Protect: true, Cond: cond}
		case 4:
			return op.Delete{Key: key, Cond: cond}
		case 5:
			return op.Expire{Key: key, TTL: anyTTL().Draw(t, "ttl"), Cond: cond}
		case 6:
			return op.Get{Key: key}
		case 7:
			return op.Stat{Key: key}
		default:
			return op.Add{Key: key, Delta: rapid.Int64Range(-9, 9).Draw(t, "delta"), Cond: cond}
		}
	})
}

// anyBranch returns parts that write no key twice.
func anyBranch() *rapid.Generator[[]op.Op] {
	return rapid.Custom(func(t *rapid.T) (branch []op.Op) {
		written := map[string]bool{}
		for _, o := range rapid.SliceOfN(anyPart(), 0, 5).Draw(t, "parts") {
			w, writes := o.(op.Write)
			if writes && written[string(keyOf(w))] {
				continue
			}
			if writes {
				written[string(keyOf(w))] = true
			}
			branch = append(branch, o)
		}
		return branch
	})
}

func keyOf(w op.Write) []byte {
	switch o := w.(type) {
	case op.Set:
		return o.Key
	case op.Delete:
		return o.Key
	case op.Expire:
		return o.Key
	case op.Add:
		return o.Key
	}
	return nil
}

func anyTxn() *rapid.Generator[op.Txn] {
	return rapid.Custom(func(t *rapid.T) op.Txn {
		var o op.Txn
		keys := rapid.SliceOfNDistinct(anyKey(), 0, 2, func(k []byte) string { return string(k) })
		for _, key := range keys.Draw(t, "compared") {
			cond := anyCond().Draw(t, "cond")
			if cond.Kind == op.CondNone {
				cond.Kind = op.CondPresent
			}
			o.Compares = append(o.Compares, op.Compare{Key: key, Cond: cond})
		}
		o.Then, o.Else = anyBranch().Draw(t, "then"), anyBranch().Draw(t, "else")
		return o
	})
}

// anyWrite returns operations as leaders propose them, on records of a few hundred
// bytes and under limits of a few thousand.
func anyWrite() *rapid.Generator[op.Write] {
	return rapid.Custom(func(t *rapid.T) op.Write {
		key, cond := anyKey().Draw(t, "key"), anyCond().Draw(t, "cond")
		switch rapid.IntRange(0, 19).Draw(t, "op") {
		case 0, 1, 2, 3, 4:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), TTL: anyTTL().Draw(t, "ttl"), Cond: cond}
		case 5:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), KeepTTL: true}
		case 6:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), Protect: true, TTL: anyTTL().Draw(t, "ttl")}
		case 7, 8:
			return op.Delete{Key: key, Cond: cond}
		case 9:
			return op.Expire{Key: key, TTL: anyTTL().Draw(t, "ttl"), Cond: cond}
		case 10, 11:
			return anyAdd().Draw(t, "add")
		case 12:
			o := op.MSet{TTL: anyTTL().Draw(t, "ttl"), Cond: ofMany(cond)}
			for range rapid.IntRange(1, 4).Draw(t, "pairs") {
				o.Pairs = append(o.Pairs, op.Pair{Key: anyKey().Draw(t, "key"), Value: anyValue().Draw(t, "value")})
			}
			return o
		case 13:
			return op.MDelete{Keys: rapid.SliceOfN(anyKey(), 1, 3).Draw(t, "keys"), Cond: ofMany(cond)}
		case 14, 15:
			return op.OpenSession{TTL: rapid.SampledFrom([]int64{op.MinSessionTTL, 2 * op.MinSessionTTL}).Draw(t, "session ttl")}
		case 16:
			return op.Configure{Settings: op.GroupSettings{
				MaxBytes: rapid.Int64Range(600, 5000).Draw(t, "limit"), Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch"),
			}}
		default:
			return anyTxn().Draw(t, "txn")
		}
	})
}

// ofMany is c, or the zero condition if c is for one key only.
func ofMany(c op.Cond) op.Cond {
	if c.Kind == op.CondAbsent || c.Kind == op.CondPresent {
		return c
	}
	return op.Cond{}
}

// anyCommand returns commands without a session and ones of the sessions last opened,
// with few sequences, so that they are repeated, and one session that is unknown.
func anyCommand(opened uint64) *rapid.Generator[op.Command] {
	return rapid.Custom(func(t *rapid.T) op.Command {
		c := op.Command{Op: anyWrite().Draw(t, "write")}
		switch c.Op.(type) {
		case op.OpenSession, op.Configure:
			return c
		}
		if rapid.IntRange(0, 15).Draw(t, "closes") == 0 {
			return op.Command{Op: op.CloseSession{Session: rapid.Uint64Range(max(opened, 3)-2, opened+1).Draw(t, "session")}}
		}
		if rapid.IntRange(0, 2).Draw(t, "in a session") > 0 {
			c.Session = rapid.Uint64Range(max(opened, 3)-2, opened+1).Draw(t, "session")
			c.Sequence = rapid.Uint64Range(1, 12).Draw(t, "sequence")
			if rapid.IntRange(0, 4).Draw(t, "acknowledges") == 0 {
				c.Acknowledged = rapid.Uint64Range(0, c.Sequence).Draw(t, "acknowledged")
			}
		}
		return c
	})
}

// entry is an entry before it is encoded.
type entry struct {
	time     int64
	touches  [][]byte
	commands []op.Command
}

func (e entry) encode() []byte { return entryOfCommands(e.time, e.touches, e.commands...) }

// anyEntry returns entries whose time is around now, and sometimes goes back, or far
// enough ahead for sessions to end. A sweep comes first in an entry.
func anyEntry(now int64, opened uint64) *rapid.Generator[entry] {
	return rapid.Custom(func(t *rapid.T) entry {
		e := entry{
			time:     now + rapid.Int64Range(-5, 15).Draw(t, "time"),
			touches:  rapid.SliceOfN(anyKey(), 0, 3).Draw(t, "touches"),
			commands: rapid.SliceOfN(anyCommand(opened), 0, 5).Draw(t, "commands"),
		}
		switch rapid.IntRange(0, 15).Draw(t, "kind") {
		case 0:
			e.time += rapid.Int64Range(4000, 11_000).Draw(t, "ahead")
		case 1, 2:
			sweep := op.Command{Op: op.Sweep{Limit: rapid.IntRange(1, 4).Draw(t, "limit")}}
			e.commands = append([]op.Command{sweep}, e.commands...)
		}
		return e
	})
}
