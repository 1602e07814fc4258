package op

// Result is the answer to any operation; which fields mean something is said at
// the operation. On the wire it is the array
//
//	[error, version, found, value, ttl, number, items, next, detail]
//
// with the zero fields at its end left out; error is nil when there is none.
type Result struct {
	Err     *Error
	Version uint64 // the key's version after a write, at a read; 0 if it has none
	Found   bool   // the key was there: at a read, or before a write
	Value   []byte
	TTL     int64 // ms until the deadline; 0 is none
	Number  int64
	Items   []Item // of a multi-key operation, in the order asked
	Next    []byte // of a scan: the cursor to go on with, empty at the end
	Detail  []byte // of a cluster operation: a document in MessagePack, see cluster.go
}

// Item is one key's part of a multi-key result: [key, version, found, value, ttl].
type Item struct {
	Key     []byte
	Version uint64
	Found   bool
	Value   []byte
	TTL     int64 // ms until the deadline; 0 is none
}

// Fail returns the result that carries err.
func Fail(err *Error) Result { return Result{Err: err} }

// AppendTo appends the encoded result to b.
func (res *Result) AppendTo(b []byte) []byte {
	n := res.fields()
	b = appendArray(b, n)
	if n > 0 {
		if res.Err != nil {
			b = res.Err.appendTo(b)
		} else {
			b = append(b, mpNil)
		}
	}
	if n > 1 {
		b = appendUint(b, res.Version)
	}
	if n > 2 {
		b = appendBool(b, res.Found)
	}
	if n > 3 {
		b = appendBytes(b, res.Value)
	}
	if n > 4 {
		b = appendInt(b, res.TTL)
	}
	if n > 5 {
		b = appendInt(b, res.Number)
	}
	if n > 6 {
		b = appendArray(b, len(res.Items))
		for i := range res.Items {
			b = res.Items[i].appendTo(b)
		}
	}
	if n > 7 {
		b = appendBytes(b, res.Next)
	}
	if n > 8 {
		b = appendBytes(b, res.Detail)
	}
	return b
}

// fields returns how many fields are left without the zero ones at the end.
func (res *Result) fields() int {
	switch {
	case len(res.Detail) > 0:
		return 9
	case len(res.Next) > 0:
		return 8
	case len(res.Items) > 0:
		return 7
	case res.Number != 0:
		return 6
	case res.TTL != 0:
		return 5
	case len(res.Value) > 0:
		return 4
	case res.Found:
		return 3
	case res.Version != 0:
		return 2
	case res.Err != nil:
		return 1
	}
	return 0
}

func (it *Item) appendTo(b []byte) []byte {
	b = appendArray(b, 5)
	b = appendBytes(b, it.Key)
	b = appendUint(b, it.Version)
	b = appendBool(b, it.Found)
	b = appendBytes(b, it.Value)
	return appendInt(b, it.TTL)
}

// DecodeResult returns the result that b holds. It aliases b.
func DecodeResult(b []byte) (Result, error) {
	r := reader{b: b}
	var res Result
	n := r.array("result")
	if n > 9 {
		r.fail("result: %d fields, at most 9 are known", n)
	}
	if n > 0 {
		if len(r.b) > 0 && r.b[0] == mpNil {
			r.b = r.b[1:]
		} else {
			res.Err = r.opError()
		}
	}
	if n > 1 {
		res.Version = r.uint("version")
	}
	if n > 2 {
		res.Found = r.bool("found")
	}
	if n > 3 {
		res.Value = r.bytes("value")
	}
	if n > 4 {
		res.TTL = r.int("ttl")
	}
	if n > 5 {
		res.Number = r.int("number")
	}
	if n > 6 {
		res.Items = r.items()
	}
	if n > 7 {
		res.Next = r.bytes("next")
	}
	if n > 8 {
		res.Detail = r.bytes("detail")
	}
	return res, r.done()
}

func (r *reader) items() []Item {
	n := r.array("items")
	if n > MaxKeys {
		r.fail("items: there are %d; the limit is %d", n, MaxKeys)
		return nil
	}
	if n == 0 {
		return nil
	}
	items := make([]Item, n)
	for i := range items {
		if got := r.array("item"); got != 5 {
			r.fail("item: %d fields, want 5", got)
			return nil
		}
		items[i] = Item{
			Key:     r.bytes("item.key"),
			Version: r.uint("item.version"),
			Found:   r.bool("item.found"),
			Value:   r.bytes("item.value"),
			TTL:     r.int("item.ttl"),
		}
	}
	return items
}
