package op

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The subset of MessagePack that the hot path needs, written by hand and checked
// against go-msgpack in the tests: integers, byte strings, booleans, arrays, nil.
// Writers use the shortest form. The reader takes any form of the same value, and
// text strings where byte strings are expected, as other languages' libraries send.

const (
	mpNil     = 0xc0
	mpFalse   = 0xc2
	mpTrue    = 0xc3
	mpBin8    = 0xc4
	mpBin16   = 0xc5
	mpBin32   = 0xc6
	mpUint8   = 0xcc
	mpUint16  = 0xcd
	mpUint32  = 0xce
	mpUint64  = 0xcf
	mpInt8    = 0xd0
	mpInt16   = 0xd1
	mpInt32   = 0xd2
	mpInt64   = 0xd3
	mpStr8    = 0xd9
	mpStr16   = 0xda
	mpStr32   = 0xdb
	mpArray16 = 0xdc
	mpArray32 = 0xdd
)

func appendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, mpArray16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, mpArray32), uint32(n))
	}
}

func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, mpUint8, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, mpUint16), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, mpUint32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, mpUint64), v)
	}
}

func appendInt(b []byte, v int64) []byte {
	switch {
	case v >= 0:
		return appendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, mpInt8, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, mpInt16), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, mpInt32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, mpInt64), uint64(v))
	}
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, mpTrue)
	}
	return append(b, mpFalse)
}

func appendBytes(b, v []byte) []byte {
	switch n := len(v); {
	case n <= math.MaxUint8:
		b = append(b, mpBin8, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, mpBin16), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, mpBin32), uint32(n))
	}
	return append(b, v...)
}

func appendString(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, mpStr8, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, mpStr16), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, mpStr32), uint32(n))
	}
	return append(b, s...)
}

// reader decodes from b. Its first error sticks and makes every later read return
// zero, so a decoder reads all its fields and looks at err once. Slices it returns
// alias b.
type reader struct {
	b     []byte
	err   error
	specs *[256]Spec // the table, for operations
}

func newReader(b []byte) reader { return reader{b: b, specs: &specs} }

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

// take returns the next n bytes; n is checked against what is there, so a length
// read from the wire never leads to an allocation. After a failure nothing is there.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.truncated(n)
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) truncated(n uint64) { r.fail("truncated: %d bytes wanted, %d left", n, len(r.b)) }

func (r *reader) tag() byte {
	if len(r.b) == 0 {
		r.truncated(1)
		return mpNil
	}
	t := r.b[0]
	r.b = r.b[1:]
	return t
}

// big returns an n-byte big-endian unsigned integer, n being 1, 2, 4 or 8.
func (r *reader) big(n uint64) uint64 {
	v := r.take(n)
	switch len(v) {
	case 1:
		return uint64(v[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(v))
	case 4:
		return uint64(binary.BigEndian.Uint32(v))
	case 8:
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func (r *reader) uint(field string) uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	if b := r.b; len(b) >= 9 { // as long as the longest form
		switch b[0] {
		case mpUint16:
			r.b = b[3:]
			return uint64(binary.BigEndian.Uint16(b[1:]))
		case mpUint32:
			r.b = b[5:]
			return uint64(binary.BigEndian.Uint32(b[1:]))
		case mpUint64:
			r.b = b[9:]
			return binary.BigEndian.Uint64(b[1:])
		}
	}
	v, negative := r.integer(field)
	if negative {
		r.fail("%s: negative number where an unsigned one belongs", field)
		return 0
	}
	return v
}

func (r *reader) int(field string) int64 {
	v, negative := r.integer(field)
	if !negative && v > math.MaxInt64 {
		r.fail("%s: %d is over the limit of a signed 64-bit number", field, v)
		return 0
	}
	return int64(v)
}

// integer returns the two's complement bits of the next integer.
func (r *reader) integer(field string) (bits uint64, negative bool) {
	t := r.tag()
	switch {
	case r.err != nil:
		return 0, false
	case t < 0x80:
		return uint64(t), false
	case t >= 0xe0:
		return uint64(int64(int8(t))), true
	case t >= mpUint8 && t <= mpUint64:
		return r.big(1 << (t - mpUint8)), false
	case t >= mpInt8 && t <= mpInt64:
		n := uint64(1) << (t - mpInt8)
		shift := 64 - 8*n
		v := int64(r.big(n)<<shift) >> shift
		return uint64(v), v < 0
	}
	r.fail("%s: type byte 0x%02x is no integer", field, t)
	return 0, false
}

func (r *reader) bool(field string) bool {
	switch t := r.tag(); t {
	case mpTrue:
		return true
	case mpFalse:
		return false
	default:
		r.fail("%s: type byte 0x%02x is no boolean", field, t)
		return false
	}
}

// null reports whether nil comes next, and takes it.
func (r *reader) null() bool {
	if r.err != nil || len(r.b) == 0 || r.b[0] != mpNil {
		return false
	}
	r.b = r.b[1:]
	return true
}

// bytes returns the next byte or text string, aliasing the input; never nil
// unless the reader failed.
func (r *reader) bytes(field string) []byte {
	if b := r.b; len(b) > 1 && b[0] == mpBin8 && int(b[1]) <= len(b)-2 { // as most are
		end := 2 + int(b[1])
		r.b = b[end:]
		return b[2:end:end]
	}
	t := r.tag()
	switch {
	case r.err != nil:
		return nil
	case t >= 0xa0 && t < 0xc0:
		return r.take(uint64(t & 0x1f))
	case t >= mpBin8 && t <= mpBin32:
		return r.take(r.big(1 << (t - mpBin8)))
	case t >= mpStr8 && t <= mpStr32:
		return r.take(r.big(1 << (t - mpStr8)))
	}
	r.fail("%s: type byte 0x%02x is no byte string", field, t)
	return nil
}

// array returns the number of elements that follow. Every element takes at least
// a byte, so a count over what is left is refused here, before anybody allocates.
func (r *reader) array(field string) int {
	t := r.tag()
	var n uint64
	switch {
	case r.err != nil:
		return 0
	case t >= 0x90 && t < 0xa0:
		n = uint64(t & 0x0f)
	case t == mpArray16:
		n = r.big(2)
	case t == mpArray32:
		n = r.big(4)
	default:
		r.fail("%s: type byte 0x%02x is no array", field, t)
		return 0
	}
	if n > uint64(len(r.b)) {
		r.fail("%s: %d elements announced, %d bytes left", field, n, len(r.b))
		return 0
	}
	return int(n)
}

// done reports the first error, or one for bytes that nobody read.
func (r *reader) done() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes follow the last field", len(r.b))
	}
	return r.err
}
