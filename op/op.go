package op

// Op is one operation. AppendTo appends its fields, without the array head and
// code that [Append] puts in front.
type Op interface {
	Code() Code
	AppendTo(b []byte) []byte
	// Check returns the first field that breaks a limit, or nil.
	Check(l Limits) *Error
}

// Routed is an operation on slots. All of them must belong to one group.
type Routed interface {
	Op
	NumSlots() int
	Slot(i int) uint16
}

// Write changes a group's state. Apply runs on every replica and must depend on
// nothing but its arguments.
type Write interface {
	Routed
	Apply(s State) Result
}

// Read looks at a group's state on one replica.
type Read interface {
	Routed
	Read(v View) Result
}

// Append appends o as the array [code, field…].
func Append(b []byte, o Op) []byte {
	b = appendArray(b, 1+specs[o.Code()].Fields)
	b = appendUint(b, uint64(o.Code()))
	return o.AppendTo(b)
}

// Decode returns the operation that b holds. It aliases b.
func Decode(b []byte) (Op, error) {
	r := newReader(b)
	o := r.op(anyOp)
	return o, r.done()
}

func anyOp(Code) bool { return true }

// op reads an operation whose code is allowed.
func (r *reader) op(allowed func(Code) bool) Op {
	if spec := r.spec(allowed); spec != nil {
		return spec.decode(r)
	}
	return nil
}

// spec reads what stands before the fields of an operation, and returns its line in the
// table, nil if there is none that is allowed.
func (r *reader) spec(allowed func(Code) bool) *Spec {
	n := r.array("operation")
	if r.err == nil && n == 0 {
		r.fail("operation: an empty array; it starts with a code")
	}
	code := r.uint("code")
	if r.err != nil {
		return nil
	}
	if code >= uint64(len(r.specs)) || r.specs[code].decode == nil {
		r.err = &UnknownCodeError{Code: code}
		r.b = nil
		return nil
	}
	spec := &r.specs[code]
	if !allowed(spec.Code) {
		r.fail("operation: %s is not allowed here", spec.Name)
		return nil
	}
	if n != 1+spec.Fields {
		r.fail("%s: %d fields, want %d", spec.Name, n-1, spec.Fields)
		return nil
	}
	return spec
}

// appendKeys and the reader's keys are the codec of a list of keys.
func appendKeys(b []byte, keys [][]byte) []byte {
	b = appendArray(b, len(keys))
	for _, key := range keys {
		b = appendBytes(b, key)
	}
	return b
}

func (r *reader) keys() [][]byte {
	n := r.array("keys")
	if n > MaxKeys {
		r.fail("keys: there are %d; the limit is %d", n, MaxKeys)
		return nil
	}
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = r.bytes("key")
	}
	return keys
}

// untilDeadline returns the ms left until deadline, 0 if it is none.
func untilDeadline(deadline, now int64) int64 {
	if deadline == 0 {
		return 0
	}
	return max(deadline-now, 1)
}

// afterTTL returns the deadline ttl ms from now, 0 if ttl is none.
func afterTTL(ttl, now int64) int64 {
	if ttl == 0 {
		return 0
	}
	return now + ttl
}
