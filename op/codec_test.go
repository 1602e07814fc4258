package op_test

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// keyEnd is what the keys of samples end with, and nothing else of them.
const keyEnd = "\x00\xff"

// samples holds one operation of every code in the table.
func samples() []op.Op {
	key, other, value := []byte("k"+keyEnd), []byte("b"+keyEnd), bytes.Repeat([]byte{'v'}, 300)
	return []op.Op{
		op.Get{Key: key}, op.Stat{Key: key}, op.MGet{Keys: [][]byte{key, other}},
		op.Scan{Prefix: []byte("p"), Cursor: op.ScanCursor(7, []byte("pa")), Last: 9, Limit: 10, Values: true},
		op.Set{Key: key, Value: value, TTL: 1 << 40, Protect: true}, op.Set{Key: key, Value: []byte{}, KeepTTL: true},
		op.Set{Key: key, Value: value, Cond: op.Cond{Kind: op.CondValue, Value: []byte("old"), Show: true}},
		op.Delete{Key: key}, op.Delete{Key: key, Cond: op.Cond{Kind: op.CondVersion, Version: math.MaxUint64}},
		op.Expire{Key: key, TTL: 70000, Cond: op.Cond{Kind: op.CondPresent}},
		op.Add{Key: key, Delta: math.MinInt64}, op.Add{Key: key, Delta: -1, Min: new(int64), Max: new(int64), Clamp: true, TTL: 9},
		op.MSet{Pairs: []op.Pair{{Key: key, Value: value}, {Key: other, Value: []byte{}}}, TTL: 5},
		op.MDelete{Keys: [][]byte{key}, Cond: op.Cond{Kind: op.CondAbsent}},
		op.Txn{
			Compares: []op.Compare{{Key: key, Cond: op.Cond{Kind: op.CondAbsent}}},
			Then:     []op.Op{op.Set{Key: key, Value: value}, op.Get{Key: other}},
			Else:     []op.Op{op.Delete{Key: key}},
		},
		op.Once{
			Key: op.AttachedKey(7, 'i', []byte("name"+keyEnd)), Mark: bytes.Repeat([]byte{5}, op.MarkSize), TTL: 9,
			Txn: op.Txn{Compares: []op.Compare{{Key: key, Cond: op.Cond{Kind: op.CondPresent}}}, Then: []op.Op{op.Add{Key: key, Delta: 1}}, Else: []op.Op{op.Get{Key: key}}},
		},
		op.OpenSession{OnSlot: 4095, TTL: 60_000}, op.AbortTxn{ID: txnID(9), Home: 4095}, op.CloseSession{OnSlot: 4095, Session: 1 << 40},
		op.Hello{Cluster: "c1"}, op.ClusterMap{Epoch: math.MaxUint64}, op.Status{All: true},
		op.Transfer{Group: 3, To: "n2"}, op.SetConfig{Name: "max-bytes", Value: "1GiB"},
		op.Txn{Then: []op.Op{op.Get{Key: key}}, ID: txnID(3)}, op.GetTxn{ID: txnID(4), Home: 4095},
		op.Prepare{Attempt: attempt(1), Compares: []op.Compare{{Key: key, Cond: op.Cond{Kind: op.CondPresent}}}, Ops: []op.Op{op.Delete{Key: key}}},
		op.Decide{Attempt: attempt(2), Commit: true, Ops: []op.Op{op.Get{Key: key}}, Participants: []uint16{0, 4095}, Payload: 1 << 20},
		op.Decide{Attempt: attempt(3)}, op.Finish{Attempt: attempt(4), OnSlot: 300, Commit: true}, op.Forget{Attempt: attempt(5)},
		op.Sweep{Limit: 512}, op.Configure{Settings: op.GroupSettings{MaxBytes: 1 << 30, Epoch: 300}},
	}
}

func txnID(n byte) []byte { return bytes.Repeat([]byte{n}, op.TxnIDSize) }

func attempt(n byte) op.Attempt {
	return op.Attempt{ID: txnID(n), Number: math.MaxUint64 - uint64(n), Home: 4095, Deadline: 1 << 41}
}

func TestEveryOperationSurvivesTheWire(t *testing.T) {
	t.Parallel()
	seen := map[op.Code]bool{}
	for _, o := range samples() {
		seen[o.Code()] = true
		got, err := op.Decode(op.Append(nil, o))
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%s: decoded %#v, %v; want %#v", o.Code(), got, err, o)
		}
	}
	for _, spec := range op.Specs() {
		if !seen[spec.Code] {
			t.Errorf("no sample of %s", spec.Name)
		}
	}
}

// TestKeysAreThoseThatAnOperationBears: transactions lock what op.Keys names.
func TestKeysAreThoseThatAnOperationBears(t *testing.T) {
	t.Parallel()
	keyless := []op.Code{ // of a slot that they name
		op.CodeScan, op.CodeGetTxn, op.CodeOpenSession, op.CodeAbortTxn, op.CodeCloseSession, op.CodeDecide, op.CodeFinish, op.CodeForget,
	}
	for _, o := range samples() {
		var fields any
		if err := codec.NewDecoderBytes(op.Append(nil, o), new(codec.MsgpackHandle)).Decode(&fields); err != nil {
			t.Fatal(err)
		}
		borne := keysIn(fields)
		if routed, ok := o.(op.Routed); ok && routed.NumSlots() > 0 && len(borne) == 0 && !slices.Contains(keyless, o.Code()) {
			t.Errorf("%s: the sample has no key that ends with %q", o.Code(), keyEnd)
		}
		if got := op.Keys(o); !slices.EqualFunc(got, borne, bytes.Equal) {
			t.Errorf("%s: op.Keys names %q, the operation bears %q", o.Code(), got, borne)
		}
	}
}

// keysIn returns the keys of a sample that go-msgpack has decoded.
func keysIn(field any) (keys [][]byte) {
	switch field := field.(type) {
	case []any:
		for _, f := range field {
			keys = append(keys, keysIn(f)...)
		}
	case []byte:
		if bytes.HasSuffix(field, []byte(keyEnd)) {
			keys = append(keys, field)
		}
	}
	return keys
}

// TestHandEncodingIsMessagePack checks the hand-written codec against go-msgpack,
// in both directions.
func TestHandEncodingIsMessagePack(t *testing.T) {
	t.Parallel()
	for _, o := range samples() {
		hand := op.Append(nil, o)
		var generic []any
		if err := codec.NewDecoderBytes(hand, new(codec.MsgpackHandle)).Decode(&generic); err != nil {
			t.Fatalf("%s: go-msgpack cannot read %x: %v", o.Code(), hand, err)
		}
		if len(generic) != 1+op.SpecOf(o.Code()).Fields {
			t.Errorf("%s: %d elements, want the code and %d fields", o.Code(), len(generic), op.SpecOf(o.Code()).Fields)
		}
		for name, h := range map[string]*codec.MsgpackHandle{"bin": {WriteExt: true}, "text strings": {}} {
			var library []byte
			if err := codec.NewEncoderBytes(&library, h).Encode(generic); err != nil {
				t.Fatal(err)
			}
			if got, err := op.Decode(library); err != nil || !reflect.DeepEqual(got, o) {
				t.Errorf("%s in %s: decoded %#v, %v; want %#v", o.Code(), name, got, err, o)
			}
		}
	}
}

func TestIntegersOfEverySize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := op.Add{Key: []byte("k"), Delta: rapid.Int64().Draw(t, "delta")}
		got, err := op.Decode(op.Append(nil, want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("decoded %#v, %v; want %#v", got, err, want)
		}
		var library []byte
		if err := codec.NewEncoderBytes(&library, new(codec.MsgpackHandle)).Encode([]any{op.CodeAdd, "k", want.Delta, nil, nil, false, 0, nil}); err != nil {
			t.Fatal(err)
		}
		if got, err := op.Decode(library); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("from go-msgpack %x: decoded %#v, %v; want %#v", library, got, err, want)
		}
	})
}

func TestResultSurvivesTheWire(t *testing.T) {
	t.Parallel()
	bytesOf := rapid.SliceOfN(rapid.Byte(), 0, 300)
	rapid.Check(t, func(t *rapid.T) {
		want := op.Result{
			Index: rapid.Uint64().Draw(t, "index"), Unmet: rapid.Bool().Draw(t, "unmet"),
			Version: rapid.Uint64().Draw(t, "version"), Found: rapid.Bool().Draw(t, "found"),
			TTL: rapid.Int64().Draw(t, "ttl"), Number: rapid.Int64().Draw(t, "number"),
			Value: bytesOf.Draw(t, "value"), Next: bytesOf.Draw(t, "next"), Detail: bytesOf.Draw(t, "detail"),
		}
		if rapid.Bool().Draw(t, "failed") {
			want.Err = &op.Error{
				Kind: op.Kind(rapid.IntRange(1, 8).Draw(t, "kind")), Field: rapid.String().Draw(t, "field"),
				Message: rapid.String().Draw(t, "message"), Node: rapid.String().Draw(t, "node"), Epoch: rapid.Uint64().Draw(t, "epoch"),
			}
		}
		for range rapid.IntRange(0, 20).Draw(t, "items") {
			want.Items = append(want.Items, op.Item{
				Key: bytesOf.Draw(t, "item key"), Found: rapid.Bool().Draw(t, "item found"), Value: bytesOf.Draw(t, "item value"),
				Version: rapid.Uint64().Draw(t, "item version"), TTL: rapid.Int64().Draw(t, "item ttl"),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			want.Results = append(want.Results, op.Result{Version: rapid.Uint64().Draw(t, "result"), Value: bytesOf.Draw(t, "result value")})
		}
		encoded := want.AppendTo(nil)
		got, err := op.DecodeResult(encoded)
		if err != nil {
			t.Fatalf("decode %x: %v", encoded, err)
		}
		if again := got.AppendTo(nil); !bytes.Equal(again, encoded) {
			t.Fatalf("encoded again %x, want %x", again, encoded)
		}
		if (got.Err == nil) != (want.Err == nil) || got.Err != nil && *got.Err != *want.Err {
			t.Fatalf("error %+v, want %+v", got.Err, want.Err)
		}
		if got.Index != want.Index || got.Unmet != want.Unmet || len(got.Results) != len(want.Results) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if got.Version != want.Version || got.Found != want.Found || got.TTL != want.TTL || got.Number != want.Number ||
			!bytes.Equal(got.Value, want.Value) || len(got.Items) != len(want.Items) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestRequestKeepsTheBytesOfItsOperation(t *testing.T) {
	t.Parallel()
	for _, o := range samples() {
		req := op.Request{Epoch: 300, Level: op.Linearizable, Op: o}
		got, err := op.DecodeRequest(req.AppendTo(nil))
		if err != nil {
			t.Fatalf("%s: %v", o.Code(), err)
		}
		if got.Epoch != 300 || got.Level != op.Linearizable || !reflect.DeepEqual(got.Op, o) || !bytes.Equal(got.Raw, command(o)) {
			t.Errorf("%s: got %+v", o.Code(), got)
		}
	}
}

func command(o op.Op) []byte { return op.AppendCommand(nil, op.Command{Op: o}) }

func TestEntryCarriesOperationsInOrder(t *testing.T) {
	t.Parallel()
	var b op.EntryBuilder
	want := []op.Write{op.Set{Key: []byte("a"), Value: []byte("1")}, op.Delete{Key: []byte("b")}, op.Add{Key: []byte("c"), Delta: -5}}
	for range 2 { // the builder can be used again
		for _, o := range want {
			b.Add(command(o))
		}
		e, err := op.DecodeEntry(b.Build(1234, [][]byte{[]byte("t")}))
		if err != nil || e.Time != 1234 || len(e.Touches) != 1 || string(e.Touches[0]) != "t" || e.Len() != len(want) {
			t.Fatalf("entry %+v, %v", e, err)
		}
		for i := range want {
			if got, err := e.Next(); err != nil || !reflect.DeepEqual(got.Op, want[i]) {
				t.Errorf("operation %d: %#v, %v; want %#v", i, got, err, want[i])
			}
		}
	}
}

func TestEntryRefusesWhatItCannotApply(t *testing.T) {
	t.Parallel()
	good := new(op.EntryBuilder)
	good.Add(command(op.Delete{Key: []byte("b")}))
	valid := good.Build(1, nil)
	newer := bytes.Clone(valid)
	newer[1] = 99
	read := new(op.EntryBuilder)
	read.Add(command(op.Get{Key: []byte("b")}))
	unknown := new(op.EntryBuilder)
	unknown.Add([]byte{0x94, 0, 0, 0, 0x91, 0x7f})
	for name, b := range map[string][]byte{
		"newer format": newer, "a read": read.Build(1, nil), "unknown code": unknown.Build(1, nil),
		"nothing": {}, "cut": valid[:len(valid)-1], "trailing byte": append(bytes.Clone(valid), 0),
		"trailing byte after no operation": append(new(op.EntryBuilder).Build(1, nil), 0),
	} {
		e, err := op.DecodeEntry(b)
		for err == nil && e.Len() > 0 {
			_, err = e.Next()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDecodingRefusesMalformedOperations(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"nothing":                 {},
		"no array":                {0x01},
		"empty array":             {0x90},
		"too few fields":          {0x91, byte(op.CodeGet)},
		"too many fields":         {0x93, byte(op.CodeGet), 0xa1, 'k', 0x00},
		"trailing bytes":          {0x92, byte(op.CodeGet), 0xa1, 'k', 0x00},
		"negative code":           {0x92, 0xff, 0xa1, 'k'},
		"key of 4 GiB":            {0x92, byte(op.CodeGet), 0xc6, 0xff, 0xff, 0xff, 0xff, 'k'},
		"array of 2^32-1 keys":    {0x92, byte(op.CodeMGet), 0xdd, 0xff, 0xff, 0xff, 0xff, 'k'},
		"key that is a number":    {0x92, byte(op.CodeGet), 0x07},
		"delta over 63 bits":      {0x93, byte(op.CodeAdd), 0xa1, 'k', 0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0},
		"pairs with an odd count": {0x94, byte(op.CodeMSet), 0x91, 0xa1, 'k', 0x00, 0xc2},
		"flag that is a number":   {0x96, byte(op.CodeSet), 0xa1, 'k', 0xa1, 'v', 0x00, 0x01, 0xc2},
		"slot over the last":      {0x96, byte(op.CodeScan), 0xa0, 0xa2, 0, 0, 0xcd, 0x10, 0x00, 0x01, 0xc2},
	} {
		if o, err := op.Decode(b); err == nil {
			t.Errorf("%s: decoded as %#v", name, o)
		}
	}
}

func TestBytesEndWhereTheyEnd(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 1, 31, 32, 255, 256, 1 << 16} {
		key, value := bytes.Repeat([]byte("k"), length), bytes.Repeat([]byte("v"), length)
		b := op.Append(nil, op.Set{Key: key, Value: value})
		o, err := op.Decode(b)
		set, ok := o.(op.Set)
		if err != nil || !ok {
			t.Fatalf("%v, %v", o, err)
		}
		_ = append(set.Key, "what follows"...)
		if !bytes.Equal(set.Key, key) || !bytes.Equal(set.Value, value) {
			t.Errorf("%d bytes: key %.40q, value %.40q", length, set.Key, set.Value)
		}
		b = op.Append(nil, op.Get{Key: key})
		for cut := range min(len(b), 300) {
			if o, err := op.Decode(b[:len(b)-1-cut]); err == nil { // in memory that goes on
				t.Errorf("%d of %d bytes are taken for %.40v", len(b)-1-cut, len(b), o)
			}
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, o := range samples() {
		f.Add((&op.Request{Op: o}).AppendTo(nil))
		f.Add((&op.Request{Epoch: 1, Level: op.Session, Bound: 300, Session: 7, Sequence: 9, Acknowledged: 8, Op: o}).AppendTo(nil))
	}
	f.Add((&op.Request{Op: op.Delete{Key: []byte("k"), Cond: op.Cond{Version: 5}}}).AppendTo(nil)) // which Check refuses
	f.Fuzz(func(t *testing.T, b []byte) {
		req, err := op.DecodeRequest(b)
		if err != nil {
			return
		}
		req.Op.Check(op.Limits{MaxValue: op.DefaultMaxValue})
		_ = req.Check() // of any request, without a panic
		req.Raw = nil
		again, err := op.DecodeRequest(req.AppendTo(nil))
		again.Raw = nil
		if err != nil || !reflect.DeepEqual(again, req) {
			t.Fatalf("%#v became %#v, %v", req, again, err)
		}
		if routed, ok := req.Op.(op.Routed); ok {
			for i := range routed.NumSlots() {
				if routed.Slot(i) >= op.Slots && routed.Check(op.Limits{MaxValue: 1}) == nil {
					t.Fatalf("%#v: slot %d", routed, routed.Slot(i))
				}
			}
		}
	})
}

func FuzzDecodeResult(f *testing.F) {
	f.Add((&op.Result{Version: 9, Found: true, Value: []byte("v"), Items: []op.Item{{Key: []byte("k")}}}).AppendTo(nil))
	f.Add((&op.Result{Err: op.Invalid("key", "is empty")}).AppendTo(nil))
	f.Add((&op.Result{Unmet: true, Index: 7, Results: []op.Result{{Found: true}, {Number: -1}}}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		res, err := op.DecodeResult(b)
		if err != nil {
			return
		}
		encoded := res.AppendTo(nil)
		if again, err := op.DecodeResult(encoded); err != nil || !bytes.Equal(again.AppendTo(nil), encoded) {
			t.Fatalf("%+v became %+v, %v", res, again, err)
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	var b op.EntryBuilder
	b.Add(command(op.Set{Key: []byte("k"), Value: []byte("v")}))
	f.Add(b.Build(77, [][]byte{[]byte("t")}))
	for _, o := range samples() {
		b.Add(command(o))
		b.Add(command(op.Set{Key: []byte("k"), Value: []byte("v")}))
		f.Add(b.Build(77, nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := op.DecodeEntry(b)
		if err != nil {
			return
		}
		var sets []op.Set
		kept := e
		kept.Sets = &sets
		for n := e.Len(); n > 0; n-- {
			want, err := e.Next()
			got, keptErr := kept.Next()
			if (err == nil) != (keptErr == nil) {
				t.Fatalf("error %v, with memory for sets %v", err, keptErr)
			}
			if err != nil {
				return
			}
			if keys := op.Keys(got.Op); !reflect.DeepEqual(keys, op.Keys(want.Op)) {
				t.Fatalf("keys %q, want those of %#v", keys, want.Op)
			}
			if set, ok := got.Op.(*op.Set); ok && set == &sets[len(sets)-1] {
				got.Op = *set
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%#v, with memory for sets %#v", want, got)
			}
		}
		if e.Len() != 0 {
			t.Fatalf("%d operations left", e.Len())
		}
	})
}

func TestSetsOfAnEntryTakeNoMemoryButTheirs(t *testing.T) {
	var b op.EntryBuilder
	for range 100 {
		b.Add(command(op.Set{Key: []byte("k"), Value: []byte("v")}))
	}
	encoded := b.Build(1, nil)
	sets := make([]op.Set, 0, 100)
	allocs := testing.AllocsPerRun(10, func() {
		sets = sets[:0]
		e, err := op.DecodeEntry(encoded)
		for e.Sets = &sets; err == nil && e.Len() > 0; {
			_, err = e.Next()
		}
		if err != nil || len(sets) != 100 {
			t.Fatalf("%d sets, %v", len(sets), err)
		}
	})
	if allocs > 2 {
		t.Errorf("%v allocations, want those of the touches and of none of the sets", allocs)
	}
}
