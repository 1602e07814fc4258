package op

import (
	"encoding/binary"
	"fmt"
)

// entryFormat is the first field of every entry. A replica that reads another
// number halts: it must not guess what its peers did.
const entryFormat = 2

// Entry is what one log index carries: [format, time, touches, commands].
// Touches stand in front: they name the keys that reads have used since, and move
// them to the young end of the list before the commands run.
type Entry struct {
	Time    int64 // the leader's clock, ms since the Unix epoch
	Touches [][]byte
	// Sets, if it is not nil, is memory for the operations of commands that are a Set, as
	// most are. Next appends each there, and its command's Op is a *Set, which is good until
	// the memory is used again.
	Sets  *[]Set
	ops   reader
	count int
}

// DecodeEntry returns the entry in b, which it aliases. The commands are decoded one
// by one by Next.
func DecodeEntry(b []byte) (Entry, error) {
	r := newReader(b)
	if n := r.array("entry"); n != 4 {
		r.fail("entry: %d fields, want 4", n)
	}
	if format := r.uint("format"); r.err == nil && format != entryFormat {
		r.fail("entry: format %d, this program knows %d", format, entryFormat)
	}
	e := Entry{Time: r.int("time"), Touches: r.keys()}
	e.count = r.array("commands")
	e.ops = r
	if e.count == 0 {
		return e, r.done()
	}
	return e, r.err
}

// Len returns how many commands Next has not returned yet.
func (e *Entry) Len() int { return e.count }

// Next returns the next command, whose Op is a Write. Call it Len times.
func (e *Entry) Next() (Command, error) {
	e.count--
	c := e.ops.command(e.Sets)
	if e.count == 0 {
		if err := e.ops.done(); err != nil {
			return Command{}, err
		}
	}
	if e.ops.err != nil {
		return Command{}, e.ops.err
	}
	if _, ok := c.Op.(Write); !ok {
		return Command{}, fmt.Errorf("entry holds the operation %s, which does not write", c.Op.Code())
	}
	return c, nil
}

// EntryBuilder collects commands, in the bytes clients sent, into an entry. The
// zero value is empty and ready.
type EntryBuilder struct {
	ops   []byte
	count int
}

// Add appends an encoded command.
func (eb *EntryBuilder) Add(raw []byte) {
	eb.ops = append(eb.ops, raw...)
	eb.count++
}

// Len returns the number of commands, Size their bytes.
func (eb *EntryBuilder) Len() int  { return eb.count }
func (eb *EntryBuilder) Size() int { return len(eb.ops) }

// Build returns the entry with the leader's time and the touches, and empties the
// builder, keeping its memory. There may be at most MaxKeys touches.
func (eb *EntryBuilder) Build(time int64, touches [][]byte) []byte {
	size := len(eb.ops) + 32
	for _, t := range touches {
		size += len(t) + 5
	}
	b := make([]byte, 0, size)
	b = appendArray(b, 4)
	b = appendUint(b, entryFormat)
	b = appendInt(b, time)
	b = appendKeys(b, touches)
	b = append(b, mpArray32)
	b = binary.BigEndian.AppendUint32(b, uint32(eb.count))
	b = append(b, eb.ops...)
	eb.ops, eb.count = eb.ops[:0], 0
	return b
}
