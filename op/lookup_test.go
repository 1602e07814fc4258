package op

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestLookupsAreGetsThatAnybodyAnswers: which requests are lookups, and what they ask.
func TestLookupsAreGetsThatAnybodyAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		req := Request{
			Epoch: rapid.Uint64().Draw(t, "epoch"),
			Level: Level(rapid.IntRange(0, int(Linearizable)).Draw(t, "level")),
			Bound: rapid.SampledFrom([]uint64{0, 0, 1, 127, 128, 1 << 40}).Draw(t, "bound"),
			Op:    Get{Key: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "key")},
		}
		key := req.Op.(Get).Key
		if rapid.Bool().Draw(t, "another") {
			req.Op = rapid.SampledFrom([]Op{Stat{Key: key}, Delete{Key: key}, MGet{Keys: [][]byte{key}}}).Draw(t, "op")
		}
		_, gets := req.Op.(Get)
		want := gets && (req.Level == Local && req.Bound == 0 || req.Level == Session) && len(key) > 0
		got, ok := DecodeLookup(req.AppendTo(nil))
		if ok != want {
			t.Fatalf("%+v: is a lookup %v, want %v", req, ok, want)
		}
		if ok && (!bytes.Equal(got.Key, key) || got.Bound != req.Bound || got.Slot != SlotOf(key)) {
			t.Fatalf("%+v is read as %+v", req, got)
		}
	})
}

// FuzzLookup: what is a lookup is the same request to those who decode any.
func FuzzLookup(f *testing.F) {
	get := Request{Epoch: 300, Level: Session, Bound: 5, Op: Get{Key: []byte("key")}}
	stat := Request{Op: Stat{Key: []byte("key")}}
	f.Add(get.AppendTo(nil))
	f.Add(stat.AppendTo(nil))
	f.Add(append(get.AppendTo(nil), 0))
	f.Add([]byte("\x94\x00\x00\x00\x94\x00\x00\x00\x92\x01\xa1k"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, ok := DecodeLookup(b)
		if !ok {
			return
		}
		req, err := DecodeRequest(b)
		if err != nil {
			t.Fatalf("%x is a lookup and no request: %v", b, err)
		}
		o, gets := req.Op.(Get)
		if !gets || req.Level > Session || req.Bound != l.Bound || !bytes.Equal(o.Key, l.Key) || req.Check() != nil || o.Check(Limits{}) != nil {
			t.Fatalf("%x is the lookup %+v and the request %+v", b, l, req)
		}
	})
}
