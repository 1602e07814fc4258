package op

// Level is how old a read's answer may be.
type Level uint8

const (
	// Local is answered by any replica: a committed value, perhaps old.
	Local Level = 0
	// Linearizable is answered by the leader after a read-index round: the latest.
	// Numbers 1 and 2 are kept for the levels in between.
	Linearizable Level = 3
)

// String returns the level's name as the command line spells it.
func (l Level) String() string {
	switch l {
	case Local:
		return "local"
	case Linearizable:
		return "linearizable"
	}
	return "unknown"
}

// ParseLevel returns the level of that name.
func ParseLevel(name string) (Level, *Error) {
	for _, l := range []Level{Local, Linearizable} {
		if name == l.String() {
			return l, nil
		}
	}
	return 0, Invalid("read", "%q is no read level; it is local or linearizable", name)
}

// Request is an operation with what the way to it needs: [epoch, level, operation].
type Request struct {
	Epoch uint64 // of the cluster map the sender routed by; 0 if it has none
	Level Level  // of a read
	Op    Op
	// Raw is Op as it came, [code, field…]: what goes into the log.
	Raw []byte
}

// AppendTo appends the encoded request, from Raw if it is there, else from Op.
func (req *Request) AppendTo(b []byte) []byte {
	b = appendArray(b, 3)
	b = appendUint(b, req.Epoch)
	b = appendUint(b, uint64(req.Level))
	if req.Raw != nil {
		return append(b, req.Raw...)
	}
	return Append(b, req.Op)
}

// DecodeRequest returns the request that b holds. It aliases b.
func DecodeRequest(b []byte) (Request, error) {
	r := reader{b: b}
	if n := r.array("request"); n != 3 {
		r.fail("request: %d fields, want 3", n)
	}
	var req Request
	req.Epoch = r.uint("epoch")
	level := r.uint("level")
	if level != uint64(Local) && level != uint64(Linearizable) {
		r.fail("level: %d is no read level", level)
	}
	req.Level = Level(level)
	req.Raw = r.b
	req.Op = r.op()
	return req, r.done()
}

// Replier takes the answer to one request.
type Replier interface {
	// Reply is called once, from any goroutine, and does not block. It does not
	// keep what res refers to.
	Reply(res Result)
}
