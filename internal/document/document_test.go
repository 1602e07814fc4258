package document

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// TestAnyBytesGoThroughJSON, as keys and as values.
func TestAnyBytesGoThroughJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "bytes")
		text, err := json.Marshal(Pair{KeyField: NewKey(want), Record: Record{ValueField: NewValue(want)}})
		if err != nil {
			t.Fatal(err)
		}
		var back Pair
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		o, invalid := back.Op()
		if invalid != nil || !bytes.Equal(o.Key, want) || !bytes.Equal(o.Value, want) {
			t.Errorf("%q became %s, and %+v, %v", want, text, o, invalid)
		}
	})
}

func TestTransaction(t *testing.T) {
	t.Parallel()
	const text = `{
		"if":   [{"key": "a", "absent": true, "show": true}, {"key_base64": "/w==", "version": 7}, {"key": "c", "value": ""}, {"key": "d", "present": true}],
		"then": [{"set": {"key": "a", "value_base64": "AP8=", "ttl": "1m30s", "protect": true}}, {"add": {"key": "b", "delta": -1, "at_least": 0, "clamp": true}},
		         {"add": {"key": "n", "ttl": "1ms"}}, {"expire": {"key": "c", "ttl": "never"}}, {"expire": {"key": "c2", "ttl": "2s"}}],
		"else": [{"delete": {"key": "a"}}, {"get": {"key": "b"}}, {"set": {"key": "e", "value": "", "keep_ttl": true}}]}`
	var doc Transaction
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	got, err := doc.Txn()
	least := int64(0)
	want := op.Txn{
		Compares: []op.Compare{
			{Key: []byte("a"), Cond: op.Cond{Kind: op.CondAbsent, Show: true}}, {Key: []byte("\xff"), Cond: op.Cond{Kind: op.CondVersion, Version: 7}},
			{Key: []byte("c"), Cond: op.Cond{Kind: op.CondValue, Value: []byte{}}}, {Key: []byte("d"), Cond: op.Cond{Kind: op.CondPresent}},
		},
		Then: []op.Op{
			op.Set{Key: []byte("a"), Value: []byte("\x00\xff"), TTL: 90_000, Protect: true}, op.Add{Key: []byte("b"), Delta: -1, Min: &least, Clamp: true},
			op.Add{Key: []byte("n"), Delta: 1, TTL: 1}, op.Expire{Key: []byte("c")}, op.Expire{Key: []byte("c2"), TTL: 2000},
		},
		Else: []op.Op{op.Delete{Key: []byte("a")}, op.Get{Key: []byte("b")}, op.Set{Key: []byte("e"), Value: []byte{}, KeepTTL: true}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}
