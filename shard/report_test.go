package shard

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/placement"
)

func TestReportsCross(t *testing.T) {
	many := map[uint64]position{}
	for group := range uint64(placement.MaxGroups + 1) {
		many[group] = position{group + 1, ^group}
	}
	for _, r := range []report{
		{node: "n1", positions: map[uint64]position{}},
		{node: "n1", sequence: 7, gone: true, positions: map[uint64]position{}},
		{node: strings.Repeat("n", 64), sequence: ^uint64(0), gone: true, positions: many},
	} {
		got, err := decodeReport(r.appendTo(nil))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, %v; want %+v", got, err, r)
		}
	}
}

func TestMalformedReportsAreRefused(t *testing.T) {
	good := report{node: "n1", sequence: 1, gone: true, positions: map[uint64]position{1: {1, 1}, 2: {1, 1}}}.appendTo(nil)
	many := map[uint64]position{}
	for group := range uint64(placement.MaxGroups + 2) {
		many[group] = position{1, 1}
	}
	swapped := bytes.Clone(good)
	copy(swapped[len(good)-2*positionSize:], good[len(good)-positionSize:])
	replaced := func(at int, with byte) []byte {
		b := bytes.Clone(good)
		b[at] = with
		return b
	}
	for name, b := range map[string][]byte{
		"empty": nil, "cut in a position": good[:len(good)-1], "cut in the id": good[:reportHead+1], "cut in the head": good[:reportHead-1],
		"a byte too many": append(bytes.Clone(good), 0), "neither gone nor there": replaced(0, 2),
		"there, with positions": replaced(0, 0), "an id that ends too late": replaced(reportHead-1, 255), "no id": replaced(reportHead-1, 0),
		"a slash in the id": replaced(reportHead, '/'), "a group twice": swapped,
		"too many groups": report{node: "n1", gone: true, positions: many}.appendTo(nil),
	} {
		if r, err := decodeReport(b); err == nil {
			t.Errorf("%s: it is %+v", name, r)
		}
	}
}

func FuzzDecodeReport(f *testing.F) {
	f.Add(report{node: "n1", sequence: 3}.appendTo(nil))
	f.Add(report{node: "n1", sequence: 3, gone: true, positions: map[uint64]position{0: {1, 2}, 7: {3, 4}}}.appendTo(nil))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 255, 'n'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeReport(b)
		if err != nil {
			return
		}
		if again := r.appendTo(nil); !bytes.Equal(again, b) {
			t.Errorf("%x was taken for %+v, which is %x", b, r, again)
		}
	})
}
