package resp

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/op"
)

// A cursor is a place in an order of all keys that never changes and that every node
// knows: by slot, and within a slot by a hash of the key. So no node keeps anything of a
// scan, any node goes on with it, and a key that is there all the time is found.
const (
	offsetBits = 51 // of a cursor; the slot stands above, and the sign bit is 0
	maxOffset  = 1<<offsetBits - 1
	// maxPart is the most keys of a slot that are answered at once, unless more are
	// asked for: to find them all keys of the slot are looked at.
	maxPart = op.MaxKeys
	// maxPages is how many pages, of a run of slots each, a SCAN looks at to find enough.
	maxPages = 128
)

// cursor is a place between two keys.
type cursor struct {
	slot   uint16
	offset uint64 // the least hash of the keys of slot that are still to come
}

// number returns the cursor as clients see it: 0 is the start, and the end.
func (c cursor) number() uint64 { return uint64(c.slot)<<offsetBits | c.offset }

// cursorOf returns the cursor of a number. One that was never given out goes to the
// nearest place.
func cursorOf(n uint64) cursor {
	return cursor{uint16(min(n>>offsetBits, op.Slots-1)), n & maxOffset}
}

func after(slot uint16) cursor {
	if slot+1 == op.Slots {
		return cursor{}
	}
	return cursor{slot: slot + 1}
}

func offsetOf(key []byte) uint64 { return xxhash.Sum64(key) & maxOffset }

// page returns some keys behind a cursor, about count of them, perhaps none, and the
// cursor to go on with, the zero one at the end.
func (c *conn) page(ctx context.Context, prefix []byte, at cursor, count int) (keys [][]byte, next cursor, err error) {
	if at.offset == 0 {
		last := c.server.cfg.Node.Place(at.slot).Last
		res := c.do(ctx, op.Scan{Prefix: prefix, Cursor: op.ScanCursor(at.slot, nil), Last: last, Limit: min(max(count, 1), op.MaxKeys)})
		if res.Err != nil {
			return nil, at, failureOf(res.Err)
		}
		if len(res.Next) == 0 {
			return keysOf(res.Items, op.Slots), after(last), nil
		}
		slot, within, bad := op.SplitCursor(res.Next)
		if bad != nil {
			return nil, at, failureOf(bad)
		}
		if len(within) == 0 || slot > at.slot {
			return keysOf(res.Items, slot), cursor{slot: slot}, nil
		}
	}
	return c.part(ctx, prefix, at, max(count, maxPart))
}

// keysOf returns the keys of a page that belong to slots before end.
func keysOf(items []op.Item, end uint16) [][]byte {
	var keys [][]byte
	for _, it := range items {
		if op.SlotOf(it.Key) < end {
			keys = append(keys, it.Key)
		}
	}
	return keys
}

// hashed is a key with its place in its slot.
type hashed struct {
	offset uint64
	key    []byte
}

// part returns about count keys of one slot from a cursor on.
func (c *conn) part(ctx context.Context, prefix []byte, at cursor, count int) (keys [][]byte, next cursor, err error) {
	var found []hashed
	cut := uint64(math.MaxUint64) // the least offset of those that are left for later
	for from := op.ScanCursor(at.slot, nil); len(from) > 0; {
		res := c.do(ctx, op.Scan{Prefix: prefix, Cursor: from, Last: at.slot, Limit: op.MaxKeys})
		if res.Err != nil {
			return nil, at, failureOf(res.Err)
		}
		for _, it := range res.Items {
			if offset := offsetOf(it.Key); offset >= at.offset && offset < cut {
				found = append(found, hashed{offset, it.Key})
			}
		}
		if len(found) > 2*count {
			found, cut = first(found, count)
		}
		from = res.Next
	}
	if len(found) > count {
		found, cut = first(found, count)
	}
	for _, h := range found {
		keys = append(keys, h.key)
	}
	if cut == math.MaxUint64 {
		return keys, after(at.slot), nil
	}
	return keys, cursor{at.slot, cut}, nil
}

// first returns the keys with the least offsets, at least count of them, and the offset
// of the next one, MaxUint64 if there is none. Keys of the same offset stay together.
func first(found []hashed, count int) ([]hashed, uint64) {
	slices.SortFunc(found, func(a, b hashed) int { return cmp.Compare(a.offset, b.offset) })
	for n := count; n < len(found); n++ {
		if found[n].offset != found[n-1].offset {
			return found[:n], found[n].offset
		}
	}
	return found, math.MaxUint64
}

// scanOptions are those of SCAN.
type scanOptions struct {
	pattern []byte // nil: all
	count   int
	nothing bool // the type asked for is not one that keys have
}

func parseScan(args [][]byte) (o scanOptions, err error) {
	o.count = 10
	for ; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return o, errSyntax
		}
		switch strings.ToUpper(string(args[0])) {
		case "MATCH":
			o.pattern = args[1]
		case "TYPE":
			o.nothing = !strings.EqualFold(string(args[1]), "string")
		case "COUNT":
			n, ok := parseInteger(args[1])
			switch {
			case !ok:
				return o, errNotInteger
			case n < 1:
				return o, errSyntax
			}
			o.count = int(min(n, 100*op.MaxKeys))
		default:
			return o, errSyntax
		}
	}
	return o, nil
}

func (o *scanOptions) want(key []byte) bool {
	return !o.nothing && (o.pattern == nil || match(o.pattern, key))
}

func scan(c *conn, q query, r *reply) error {
	n, err := strconv.ParseUint(string(q.args[0]), 10, 64)
	if err != nil {
		return failure("ERR invalid cursor")
	}
	o, err := parseScan(q.args[1:])
	if err != nil {
		return err
	}
	ctx, cancel := c.limited()
	defer cancel()
	var wanted [][]byte
	at, seen := cursorOf(n), 0
	for range maxPages {
		keys, next, err := c.page(ctx, literalPrefix(o.pattern), at, o.count-seen)
		if err != nil {
			return err
		}
		seen += len(keys)
		wanted = append(wanted, slices.DeleteFunc(keys, func(key []byte) bool { return !o.want(key) })...)
		if at = next; seen >= o.count || at == (cursor{}) {
			break
		}
	}
	r.array(2)
	r.text(strconv.FormatUint(at.number(), 10))
	r.bulks(wanted)
	return nil
}

// each calls f for the keys with a prefix, page by page.
func (c *conn) each(ctx context.Context, prefix []byte, f func(keys [][]byte) error) error {
	for at := (cursor{}); ; {
		keys, next, err := c.page(ctx, prefix, at, op.MaxKeys)
		if err == nil && len(keys) > 0 {
			err = f(keys)
		}
		if err != nil || next == (cursor{}) {
			return err
		}
		at = next
	}
}

func keys(c *conn, q query, r *reply) error {
	ctx, cancel := c.limited()
	defer cancel()
	var wanted [][]byte
	size := 0
	err := c.each(ctx, literalPrefix(q.args[0]), func(keys [][]byte) error {
		for _, key := range keys {
			if match(q.args[0], key) {
				wanted = append(wanted, key)
				size += len(key) + argCost
			}
		}
		if size > c.server.cfg.MaxAnswer {
			return errLongAnswer
		}
		return nil
	})
	if err == nil {
		r.bulks(wanted)
	}
	return err
}

// randomKey answers one of the first keys behind a slot drawn at random.
func randomKey(c *conn, _ query, r *reply) error {
	const choice = 64
	ctx, cancel := c.limited()
	defer cancel()
	start := cursor{slot: uint16(rand.N(op.Slots))}
	for at, wrapped := start, false; !wrapped || at.slot <= start.slot; {
		keys, next, err := c.page(ctx, nil, at, choice)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			r.bulk(keys[rand.N(len(keys))])
			return nil
		}
		if at = next; at == (cursor{}) {
			if wrapped {
				break
			}
			wrapped = true
		}
	}
	r.null()
	return nil
}

// flush removes all keys, page by page: those that come meanwhile may stay.
func flush(c *conn, q query, r *reply) error {
	if len(q.args) > 1 || len(q.args) == 1 && !strings.EqualFold(string(q.args[0]), "sync") && !strings.EqualFold(string(q.args[0]), "async") {
		return errSyntax
	}
	ctx, cancel := context.WithTimeout(c.ctx, 10*c.server.cfg.CommandTimeout)
	defer cancel()
	err := c.each(ctx, nil, func(keys [][]byte) error {
		_, err := c.deleteAll(ctx, keys)
		return err
	})
	if err == nil {
		r.ok()
	}
	return err
}
