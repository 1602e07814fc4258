package op

// Internal operations are proposed by a group's leader, never taken from clients.

// Sweep removes up to Limit records, sessions and decisions past their end, and records
// that are over a limit since it was lowered. Result: Number is how many.
type Sweep struct{ Limit int }

func (Sweep) Code() Code                 { return CodeSweep }
func (Sweep) NumSlots() int              { return 0 }
func (Sweep) Slot(int) uint16            { return 0 }
func (o Sweep) AppendTo(b []byte) []byte { return appendInt(b, int64(o.Limit)) }
func (r *reader) sweep() Op              { return Sweep{Limit: int(r.int("limit"))} }
func (o Sweep) Apply(s State) Result     { return Result{Number: int64(s.Sweep(o.Limit))} }

// Check refuses a limit below 1.
func (o Sweep) Check(Limits) *Error {
	if o.Limit < 1 {
		return Invalid("limit", "is %d; it must be at least 1", o.Limit)
	}
	return nil
}

// Configure gives a group the settings that the cluster map holds.
type Configure struct{ Settings GroupSettings }

func (Configure) Code() Code      { return CodeConfigure }
func (Configure) NumSlots() int   { return 0 }
func (Configure) Slot(int) uint16 { return 0 }

// AppendTo appends [max_bytes, epoch].
func (o Configure) AppendTo(b []byte) []byte {
	return appendUint(appendInt(b, o.Settings.MaxBytes), o.Settings.Epoch)
}

func (r *reader) configure() Op {
	return Configure{Settings: GroupSettings{MaxBytes: r.int("max_bytes"), Epoch: r.uint("epoch")}}
}

// Apply takes the settings over.
func (o Configure) Apply(s State) Result {
	s.Configure(o.Settings)
	return Result{}
}

// Check refuses limits that hold no record.
func (o Configure) Check(Limits) *Error {
	if o.Settings.MaxBytes < MinMaxBytes {
		return Invalid("max-bytes", "is %d; it must be at least %d", o.Settings.MaxBytes, int64(MinMaxBytes))
	}
	return nil
}
