package peer

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

func kindOf(request any) kind {
	switch request.(type) {
	case *raft.AppendEntriesRequest:
		return kindAppend
	case *raft.RequestVoteRequest:
		return kindVote
	case *raft.RequestPreVoteRequest:
		return kindPreVote
	case *raft.TimeoutNowRequest:
		return kindTimeoutNow
	}
	return kindInstall
}

// fill sets every field of v, at any depth, to something that is not zero: a field
// that a future raft adds and the codec does not know fails the test.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			nanos := rapid.Int64Range(1, math.MaxInt64).Draw(t, "time")
			v.Set(reflect.ValueOf(time.Unix(0, nanos)))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(1, 5).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8Range(1, 255).Draw(t, "byte")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64Range(1, math.MaxUint64).Draw(t, "uint"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(1, math.MaxInt64).Draw(t, "int"))
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("the codec's test does not know %v", v.Type())
	}
}

func requests() []any {
	return []any{
		&raft.AppendEntriesRequest{}, &raft.RequestVoteRequest{}, &raft.RequestPreVoteRequest{},
		&raft.TimeoutNowRequest{}, &raft.InstallSnapshotRequest{},
	}
}

func responses() []any {
	return []any{
		&raft.AppendEntriesResponse{}, &raft.RequestVoteResponse{}, &raft.RequestPreVoteResponse{},
		&raft.TimeoutNowResponse{}, &raft.InstallSnapshotResponse{},
	}
}

func TestEveryFieldOfEveryRequestCrosses(t *testing.T) {
	t.Parallel()
	for _, request := range requests() {
		t.Run(reflect.TypeOf(request).Elem().Name(), func(t *testing.T) {
			t.Parallel()
			checkRequest := func(request any, fatal func(string, ...any)) {
				got, err := decodeRequest(kindOf(request), appendRequest(nil, request))
				if err != nil || !reflect.DeepEqual(got, request) {
					fatal("got %+v, %v, want %+v", got, err, request)
				}
			}
			checkRequest(request, t.Fatalf)
			rapid.Check(t, func(t *rapid.T) {
				filled := reflect.New(reflect.TypeOf(request).Elem())
				fill(t, filled.Elem())
				checkRequest(filled.Interface(), t.Fatalf)
			})
		})
	}
}

func TestEveryFieldOfEveryResponseCrosses(t *testing.T) {
	t.Parallel()
	for _, response := range responses() {
		t.Run(reflect.TypeOf(response).Elem().Name(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				filled := reflect.New(reflect.TypeOf(response).Elem())
				fill(t, filled.Elem())
				got := reflect.New(reflect.TypeOf(response).Elem())
				err := decodeResponse(appendResponse(nil, filled.Interface()), got.Interface())
				if err != nil || !reflect.DeepEqual(got.Interface(), filled.Interface()) {
					t.Fatalf("got %+v, %v, want %+v", got, err, filled)
				}
			})
		})
	}
}

func TestEntriesCannotGrowIntoEachOther(t *testing.T) {
	t.Parallel()
	sent := &raft.AppendEntriesRequest{Entries: []*raft.Log{{Data: []byte("one")}, {Data: []byte("two")}}}
	got, err := decodeRequest(kindAppend, appendRequest(nil, sent))
	if err != nil {
		t.Fatal(err)
	}
	entries := got.(*raft.AppendEntriesRequest).Entries
	_ = append(entries[0].Data, "overwritten"...)
	if string(entries[1].Data) != "two" {
		t.Errorf("appending to one entry changed the next to %q", entries[1].Data)
	}
}

func TestClaimedCountsAreCheckedBeforeMemoryIsTaken(t *testing.T) {
	t.Parallel()
	b := appendRequest(nil, &raft.AppendEntriesRequest{})
	b = append(b[:len(b)-1], 0xff, 0xff, 0xff, 0xff, 0x0f) // 2^32 - 1 entries
	if _, err := decodeRequest(kindAppend, b); err == nil {
		t.Error("a message that claims 4 billion entries was decoded")
	}
}

func FuzzRequest(f *testing.F) {
	for _, request := range requests() {
		f.Add(byte(kindOf(request)), appendRequest(nil, request))
	}
	entries := []*raft.Log{{Index: 3, Term: 2, Type: raft.LogConfiguration, Data: []byte("d"), Extensions: []byte("e"), AppendedAt: time.Unix(1, 2)}}
	f.Add(byte(kindAppend), appendRequest(nil, &raft.AppendEntriesRequest{Term: 1, Entries: entries}))
	f.Fuzz(func(t *testing.T, k byte, b []byte) {
		request, err := decodeRequest(kind(k), b)
		if err != nil {
			return
		}
		again, err := decodeRequest(kind(k), appendRequest(nil, request))
		if err != nil || !reflect.DeepEqual(again, request) {
			t.Fatalf("%+v became %+v, %v", request, again, err)
		}
	})
}

func FuzzResponse(f *testing.F) {
	for i, response := range responses() {
		f.Add(byte(i), appendResponse(nil, response))
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		all := responses()
		response := all[int(which)%len(all)]
		if decodeResponse(b, response) != nil {
			return
		}
		again := reflect.New(reflect.TypeOf(response).Elem()).Interface()
		if err := decodeResponse(appendResponse(nil, response), again); err != nil || !reflect.DeepEqual(again, response) {
			t.Fatalf("%+v became %+v, %v", response, again, err)
		}
	})
}

func FuzzIntroduction(f *testing.F) {
	f.Add(appendIntroduction(nil, introduction{identity: in("n1"), purpose: forTraffic}))
	f.Add(appendIntroduction(nil, introduction{identity: in("n1"), purpose: forSnapshot, member: true, refusal: "no"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := decodeIntroduction(b)
		if err != nil {
			return
		}
		if again, err := decodeIntroduction(appendIntroduction(nil, i)); err != nil || again != i {
			t.Fatalf("%+v became %+v, %v", i, again, err)
		}
	})
}

func FuzzCall(f *testing.F) {
	f.Add([]byte("\x05request"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = time.Minute
		timeout, request, err := decodeCall(b, limit)
		if err == nil && (timeout < 0 || timeout > limit || !bytes.HasSuffix(b, request)) {
			t.Fatalf("timeout %v, request %q of %q", timeout, request, b)
		}
	})
}
