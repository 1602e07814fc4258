package transport

import "github.com/ringraft/ringraft/op"

const (
	// lookupsAtOnce is how many lookups are answered together.
	lookupsAtOnce = 64
	// lookupBytes of answers end a burst of lookups, and the memory kept for the next.
	lookupBytes = 64 << 10
)

// Looker is what a [Handler] may be, too: it answers lookups at once, many at a time.
type Looker interface {
	// LookUp answers the first of asked, as many as can be at once and as answer says
	// that there is room for, in their order. It returns how many those were. answer must
	// not block, and keeps nothing that res refers to; LookUp does not keep the keys.
	LookUp(asked []op.Lookup, answer func(i int, res *op.Result) (more bool)) (n int)
}

// lookups are requests of one connection that the handler answers at once. Its memory is
// used again and again.
type lookups struct {
	handler Looker
	asked   []op.Lookup
	frames  []lookupFrame
	out     []byte // the answers' frames
	answer  func(i int, res *op.Result) (more bool)
}

// lookupFrame is the frame of a lookup.
type lookupFrame struct {
	id  uint32
	end int // where it ends, in the bytes that came
}

func newLookups(handler Looker) *lookups {
	l := &lookups{
		handler: handler,
		asked:   make([]op.Lookup, 0, lookupsAtOnce),
		frames:  make([]lookupFrame, 0, lookupsAtOnce),
	}
	l.answer = l.append
	return l
}

// gather takes the lookups that b begins with, and reports whether it does. What is
// broken is left, for others to find out.
func (l *lookups) gather(b []byte) bool {
	l.asked, l.frames = l.asked[:0], l.frames[:0]
	for at := 0; len(l.asked) < lookupsAtOnce; {
		id, body, size, ok := parseRequest(b[at:])
		if !ok {
			break
		}
		asked, ok := op.DecodeLookup(body)
		if !ok {
			break
		}
		at += size
		l.asked = append(l.asked, asked)
		l.frames = append(l.frames, lookupFrame{id, at})
	}
	return len(l.asked) > 0
}

// run has the lookups answered. It returns how many bytes had asked for what is answered.
func (l *lookups) run() (size int) {
	if cap(l.out) > lookupBytes {
		l.out = nil
	}
	l.out = l.out[:0]
	n := l.handler.LookUp(l.asked, l.answer)
	if n == 0 {
		return 0
	}
	return l.frames[n-1].end
}

func (l *lookups) append(i int, res *op.Result) (more bool) {
	l.out = appendResult(l.out, kindResponse, l.frames[i].id, res)
	return len(l.out) < lookupBytes
}
