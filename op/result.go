package op

// Result is the answer to any operation; which fields mean something is said at
// the operation. On the wire it is the array
//
//	[error, index, unmet, version, found, value, ttl, number, items, next, detail, results]
//
// with the zero fields at its end left out; error is nil when there is none.
type Result struct {
	Err     *Error
	Index   uint64 // the log index that the answer shows; the next Session read's bound
	Unmet   bool   // a condition did not hold: nothing changed, the rest tells what stood there
	Version uint64 // the key's version after a write, at a read; 0 if it has none
	Found   bool   // the key was there: at a read, or before a write
	Value   []byte
	TTL     int64 // ms until the deadline; 0 is none
	Number  int64
	Items   []Item   // of a multi-key operation, in the order asked
	Next    []byte   // of a scan: the cursor to go on with, empty at the end
	Detail  []byte   // of a cluster operation: a document in MessagePack, see cluster.go
	Results []Result // of a transaction: one per operation run
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
	for i := range n {
		b = res.appendField(b, i)
	}
	return b
}

// The fields of a result, in their order.
const (
	fieldError = iota
	fieldIndex
	fieldUnmet
	fieldVersion
	fieldFound
	fieldValue
	fieldTTL
	fieldNumber
	fieldItems
	fieldNext
	fieldDetail
	fieldResults
	resultFields
)

func (res *Result) appendField(b []byte, field int) []byte {
	switch field {
	case fieldError:
		if res.Err == nil {
			return append(b, mpNil)
		}
		return res.Err.appendTo(b)
	case fieldIndex:
		return appendUint(b, res.Index)
	case fieldUnmet:
		return appendBool(b, res.Unmet)
	case fieldVersion:
		return appendUint(b, res.Version)
	case fieldFound:
		return appendBool(b, res.Found)
	case fieldValue:
		return appendBytes(b, res.Value)
	case fieldTTL:
		return appendInt(b, res.TTL)
	case fieldNumber:
		return appendInt(b, res.Number)
	case fieldItems:
		b = appendArray(b, len(res.Items))
		for i := range res.Items {
			b = res.Items[i].appendTo(b)
		}
		return b
	case fieldNext:
		return appendBytes(b, res.Next)
	case fieldDetail:
		return appendBytes(b, res.Detail)
	default:
		b = appendArray(b, len(res.Results))
		for i := range res.Results {
			b = res.Results[i].AppendTo(b)
		}
		return b
	}
}

// fields returns how many fields are left without the zero ones at the end.
func (res *Result) fields() int {
	switch {
	case len(res.Results) > 0:
		return fieldResults + 1
	case len(res.Detail) > 0:
		return fieldDetail + 1
	case len(res.Next) > 0:
		return fieldNext + 1
	case len(res.Items) > 0:
		return fieldItems + 1
	case res.Number != 0:
		return fieldNumber + 1
	case res.TTL != 0:
		return fieldTTL + 1
	case len(res.Value) > 0:
		return fieldValue + 1
	case res.Found:
		return fieldFound + 1
	case res.Version != 0:
		return fieldVersion + 1
	case res.Unmet:
		return fieldUnmet + 1
	case res.Index != 0:
		return fieldIndex + 1
	case res.Err != nil:
		return fieldError + 1
	}
	return 0
}

// Payload returns the bytes of the keys and values in the result.
func (res *Result) Payload() int {
	n := len(res.Value)
	for i := range res.Items {
		n += len(res.Items[i].Key) + len(res.Items[i].Value)
	}
	for i := range res.Results {
		n += res.Results[i].Payload()
	}
	return n
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
	res := r.result(true)
	return res, r.done()
}

// result reads a result; one inside another holds no further ones.
func (r *reader) result(outer bool) (res Result) {
	n := r.array("result")
	if n > resultFields || n > fieldResults && !outer {
		r.fail("result: %d fields are too many", n)
		return Result{}
	}
	for i := range n {
		r.resultField(&res, i)
	}
	return res
}

func (r *reader) resultField(res *Result, field int) {
	switch field {
	case fieldError:
		if !r.null() {
			res.Err = r.opError()
		}
	case fieldIndex:
		res.Index = r.uint("index")
	case fieldUnmet:
		res.Unmet = r.bool("unmet")
	case fieldVersion:
		res.Version = r.uint("version")
	case fieldFound:
		res.Found = r.bool("found")
	case fieldValue:
		res.Value = r.bytes("value")
	case fieldTTL:
		res.TTL = r.int("ttl")
	case fieldNumber:
		res.Number = r.int("number")
	case fieldItems:
		res.Items = r.items()
	case fieldNext:
		res.Next = r.bytes("next")
	case fieldDetail:
		res.Detail = r.bytes("detail")
	case fieldResults:
		res.Results = r.results()
	}
}

func (r *reader) results() []Result {
	n := r.array("results")
	if n > MaxTxnOps {
		r.fail("results: there are %d; the limit is %d", n, MaxTxnOps)
		return nil
	}
	var results []Result
	for range n {
		results = append(results, r.result(false))
	}
	return results
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
