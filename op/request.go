package op

// Level is how old a read's answer may be.
type Level uint8

const (
	// Local is answered by any replica: a committed value, perhaps old.
	Local Level = 0
	// Session is answered by any replica that has applied the log index Bound, which
	// the caller has seen the effect of: it reads its own writes, and never goes back.
	Session Level = 1
	// Bounded is answered by a replica that can prove that its state is at most Bound
	// ms old.
	Bounded Level = 2
	// Linearizable is answered by the leader after a read-index round: the latest.
	Linearizable Level = 3
)

var levelNames = [...]string{Local: "local", Session: "session", Bounded: "bounded", Linearizable: "linearizable"}

// String returns the level's name as the command line spells it.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "unknown"
}

// MaxBound is the longest age that a Bounded read can allow, in ms.
const MaxBound = 3600 * 1000

// Request is a command with what the way to it needs: [epoch, level, bound, command].
type Request struct {
	Epoch uint64 // of the cluster map the sender routed by; 0 if it has none
	Level Level  // of a read
	Bound uint64 // of a read: a log index at level Session, ms at level Bounded, else 0

	Session      uint64 // see Command; 0 for reads
	Sequence     uint64
	Acknowledged uint64
	Op           Op
	// Raw is the command as it came: what goes into the log.
	Raw []byte
}

// Command returns the request's command.
func (req *Request) Command() Command {
	return Command{Session: req.Session, Sequence: req.Sequence, Acknowledged: req.Acknowledged, Op: req.Op}
}

// AppendTo appends the encoded request, from Raw if it is there, else from the
// command's fields.
func (req *Request) AppendTo(b []byte) []byte {
	b = appendArray(b, 4)
	b = appendUint(b, req.Epoch)
	b = appendUint(b, uint64(req.Level))
	b = appendUint(b, req.Bound)
	if req.Raw != nil {
		return append(b, req.Raw...)
	}
	return AppendCommand(b, req.Command())
}

// DecodeRequest returns the request that b holds. It aliases b.
func DecodeRequest(b []byte) (Request, error) {
	r := newReader(b)
	if n := r.array("request"); n != 4 {
		r.fail("request: %d fields, want 4", n)
	}
	var req Request
	req.Epoch = r.uint("epoch")
	level := r.uint("level")
	if level > uint64(Linearizable) {
		r.fail("level: %d is no read level", level)
	}
	req.Level = Level(level)
	req.Bound = r.uint("bound")
	req.Raw = r.b
	c := r.command(nil)
	req.Session, req.Sequence, req.Acknowledged, req.Op = c.Session, c.Sequence, c.Acknowledged, c.Op
	return req, r.done()
}

// Check refuses a bound that does not fit the level, and what CheckCommand refuses.
func (req *Request) Check() *Error {
	switch {
	case req.Level == Bounded && (req.Bound == 0 || req.Bound > MaxBound):
		return Invalid("bound", "is %d ms; it lies between 1 and %d", req.Bound, MaxBound)
	case req.Bound != 0 && req.Level != Session && req.Level != Bounded:
		return Invalid("bound", "is %d, but the level %s takes none", req.Bound, req.Level)
	}
	return CheckCommand(req.Command())
}

// Replier takes the answer to one request.
type Replier interface {
	// Reply is called once, from any goroutine, and does not block. It does not
	// keep what res refers to.
	Reply(res Result)
}
