package op

// MGet reads several keys of one group at one instant. Result: Items, one per key
// in the order asked. It is refused if the values exceed MaxPayload together.
type MGet struct{ Keys [][]byte }

func (MGet) Code() Code                 { return CodeMGet }
func (o MGet) NumSlots() int            { return len(o.Keys) }
func (o MGet) Slot(i int) uint16        { return SlotOf(o.Keys[i]) }
func (o MGet) Check(Limits) *Error      { return checkKeys(o.Keys) }
func (o MGet) AppendTo(b []byte) []byte { return appendKeys(b, o.Keys) }
func (r *reader) mget() Op              { return MGet{Keys: r.keys()} }

// Read returns what stands at the keys.
func (o MGet) Read(v View) Result {
	items := make([]Item, len(o.Keys))
	size := 0
	for i, key := range o.Keys {
		items[i].Key = key
		rec, ok := v.Lookup(key)
		size += len(key) + len(rec.Value)
		if size > MaxPayload {
			return Fail(Invalid("keys", "their values exceed the %d bytes of one answer; ask for fewer keys", MaxPayload))
		}
		if ok {
			items[i] = newItem(Keyed{Record: rec}, v.Now())
			items[i].Key = key
		}
	}
	return Result{Items: items}
}

// newItem is the part of a result that tells of k.
func newItem(k Keyed, now int64) Item {
	return Item{
		Key: []byte(k.Key), Found: true, Value: k.Value, Version: k.Version,
		TTL: untilDeadline(k.Deadline, now),
	}
}

// MSet puts values at several keys of one group, all or none of them. Result: Items
// with Key, Version and Found (a value was replaced), in the order given. A key
// given twice ends with its last value. With Unmet, Items holds one: what stands at
// the first key for which the condition does not hold.
type MSet struct {
	Pairs   []Pair
	TTL     int64 // ms to live from the entry's time on; 0 is for ever
	Protect bool  // never evict these values
	Cond    Cond  // absent or present, of every key
}

// Pair is a key and the value to put there.
type Pair struct{ Key, Value []byte }

func (MSet) Code() Code          { return CodeMSet }
func (o MSet) NumSlots() int     { return len(o.Pairs) }
func (o MSet) Slot(i int) uint16 { return SlotOf(o.Pairs[i].Key) }

// Check refuses keys, values and times to live out of bounds, alone or in sum.
func (o MSet) Check(l Limits) *Error {
	if len(o.Pairs) == 0 || len(o.Pairs) > MaxKeys {
		return Invalid("pairs", "there are %d; one operation takes 1 to %d", len(o.Pairs), MaxKeys)
	}
	size := 0
	for _, p := range o.Pairs {
		if err := checkKey(p.Key); err != nil {
			return err
		}
		if err := checkValue(p.Value, l); err != nil {
			return err
		}
		size += len(p.Key) + len(p.Value)
	}
	if size > MaxPayload {
		return Invalid("pairs", "have %d bytes; the limit of one operation is %d", size, MaxPayload)
	}
	if err := o.Cond.checkForMany(); err != nil {
		return err
	}
	return checkTTL(o.TTL)
}

// AppendTo appends [[key, value, key, value…], ttl, protect, cond].
func (o MSet) AppendTo(b []byte) []byte {
	b = appendArray(b, 2*len(o.Pairs))
	for _, p := range o.Pairs {
		b = appendBytes(appendBytes(b, p.Key), p.Value)
	}
	return o.Cond.appendTo(appendBool(appendInt(b, o.TTL), o.Protect))
}

func (r *reader) mset() Op {
	n := r.array("pairs")
	if n%2 != 0 || n > 2*MaxKeys {
		r.fail("pairs: %d elements; an even number up to %d belongs here", n, 2*MaxKeys)
		return MSet{}
	}
	o := MSet{Pairs: make([]Pair, n/2)}
	for i := range o.Pairs {
		o.Pairs[i] = Pair{Key: r.bytes("key"), Value: r.bytes("value")}
	}
	o.TTL, o.Protect, o.Cond = r.int("ttl"), r.bool("protect"), r.cond()
	return o
}

// Apply stores the values.
func (o MSet) Apply(s State) Result {
	writes := make([]Op, len(o.Pairs))
	for i, p := range o.Pairs {
		if res, ok := o.Cond.judgeOneOf(s, p.Key); !ok {
			return res
		}
		writes[i] = Set{Key: p.Key, Value: p.Value, TTL: o.TTL, Protect: o.Protect}
	}
	results, err := applyAll(s, writes)
	if err != nil {
		return Fail(err)
	}
	items := make([]Item, len(o.Pairs))
	for i, res := range results {
		items[i] = Item{Key: o.Pairs[i].Key, Version: res.Version, Found: res.Found}
	}
	return Result{Items: items}
}

// MDelete removes several keys of one group in one entry. Result: Number is how
// many were there; Items with Key, Version and Found as [Delete] answers them.
type MDelete struct {
	Keys [][]byte
	Cond Cond // absent or present, of every key
}

func (MDelete) Code() Code          { return CodeMDelete }
func (o MDelete) NumSlots() int     { return len(o.Keys) }
func (o MDelete) Slot(i int) uint16 { return SlotOf(o.Keys[i]) }

// Check refuses keys out of bounds.
func (o MDelete) Check(Limits) *Error {
	if err := checkKeys(o.Keys); err != nil {
		return err
	}
	return o.Cond.checkForMany()
}

// AppendTo appends [[key…], cond].
func (o MDelete) AppendTo(b []byte) []byte { return o.Cond.appendTo(appendKeys(b, o.Keys)) }
func (r *reader) mdelete() Op              { return MDelete{Keys: r.keys(), Cond: r.cond()} }

// Apply removes the keys.
func (o MDelete) Apply(s State) Result {
	for _, key := range o.Keys {
		if res, ok := o.Cond.judgeOneOf(s, key); !ok {
			return res
		}
	}
	res := Result{Items: make([]Item, len(o.Keys))}
	for i, key := range o.Keys {
		version, existed := s.Remove(key)
		res.Items[i] = Item{Key: key, Version: version, Found: existed}
		if existed {
			res.Number++
		}
	}
	return res
}
