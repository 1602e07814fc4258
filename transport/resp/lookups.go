package resp

import (
	"github.com/ringraft/ringraft/op"
)

const (
	// lookupsAtOnce is how many GETs are answered together.
	lookupsAtOnce = 64
	// lookupBytes of answers end a burst of them, and the memory kept for the next.
	lookupBytes = 64 << 10
)

// lookups are GETs of one connection that are answered at once, as the commands of a
// pipeline mostly can be. Its memory is used again and again.
type lookups struct {
	node   Node
	asked  []op.Lookup
	ends   []int      // where each GET ends, in the bytes that came
	seen   []sighting // what each answer shows
	out    reply
	answer func(i int, res *op.Result) (more bool)
}

func newLookups(node Node) *lookups {
	l := &lookups{
		node:  node,
		asked: make([]op.Lookup, 0, lookupsAtOnce),
		ends:  make([]int, 0, lookupsAtOnce),
		seen:  make([]sighting, lookupsAtOnce),
	}
	l.answer = l.render
	return l
}

// lookUp answers the GETs that have come, where nothing is under way and nothing but GETs
// is asked, and reports whether there were any.
func (c *conn) lookUp() bool {
	l := c.lookups
	if c.multi.open || c.session.level > op.Session || !l.gather(c.in.Unread()) || !c.out.ready() {
		return false
	}
	c.working = true
	if len(c.running.keys) > 0 {
		c.await()
	}
	c.session.bind(l.asked, l.seen)
	n, size := l.run(c.proto)
	c.in.Skip(size)
	c.server.handled.Add(int64(n))
	c.session.seen.noteAll(l.seen[:n])
	c.out.append(l.out.b)
	return n > 0
}

// gather takes the GETs that b begins with, and reports whether it does.
func (l *lookups) gather(b []byte) bool {
	l.asked, l.ends = l.asked[:0], l.ends[:0]
	for at := 0; len(l.asked) < lookupsAtOnce; {
		key, size, ok := parseGet(b[at:])
		if !ok {
			break
		}
		at += size
		l.asked = append(l.asked, op.Lookup{Key: key, Slot: op.SlotOf(key)})
		l.ends = append(l.ends, at)
	}
	return len(l.asked) > 0
}

// parseGet returns the key of the GET that b begins with, if it has come whole and in the
// form in which programs send it, and its size.
func parseGet(b []byte) (key []byte, size int, ok bool) {
	const head, name, tail = "*2\r\n$3\r\n", "get", "\r\n$"
	at := len(head) + len(name) + len(tail)
	if len(b) < at+len("1\r\nk\r\n") || string(b[:len(head)]) != head || string(b[at-len(tail):at]) != tail {
		return nil, 0, false
	}
	for i := range name {
		if b[len(head)+i]|0x20 != name[i] {
			return nil, 0, false
		}
	}
	n := 0
	for ; at < len(b) && '0' <= b[at] && b[at] <= '9' && n <= op.MaxKey; at++ {
		n = 10*n + int(b[at]-'0')
	}
	start := at + len("\r\n")
	end := start + n
	size = end + len("\r\n")
	if n == 0 || n > op.MaxKey || size > len(b) || string(b[at:start]) != "\r\n" || string(b[end:size]) != "\r\n" {
		return nil, 0, false
	}
	return b[start:end:end], size, true
}

// run has the GETs answered. It returns how many were, and of how many bytes those are.
func (l *lookups) run(proto int) (n, size int) {
	if cap(l.out.b) > lookupBytes {
		l.out.b = nil
	}
	l.out = reply{b: l.out.b[:0], proto: proto}
	n = l.node.LookUp(l.asked, l.answer)
	if n == 0 {
		return 0, 0
	}
	return n, l.ends[n-1]
}

func (l *lookups) render(i int, res *op.Result) (more bool) {
	l.seen[i].index = res.Index
	renderValue(&l.out, *res)
	return len(l.out.b) < lookupBytes
}
