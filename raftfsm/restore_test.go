package raftfsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
)

// smallSnapshot has everything that a snapshot can have in about a kilobyte: of four
// sessions one without an answer, one without a floor, and one ended and removed.
func smallSnapshot(t failer) []byte {
	f := limited(5000)
	do(t, f, 1000, set("{s}a", "one"), set("{s}b", ""), set("other", "two"), set("gone", "x"),
		op.Set{Key: []byte("p"), Value: []byte("three"), Protect: true, TTL: 50},
		op.Delete{Key: []byte("gone")})
	for range 4 {
		open(t, f, 1000)
	}
	for _, c := range []op.Command{
		{Session: 1, Sequence: 3, Op: op.Set{Key: []byte("n"), Value: []byte("7")}},
		{Session: 1, Sequence: 5, Acknowledged: 3, Op: op.Add{Key: []byte("n"), Delta: -9}},
		{Session: 1, Sequence: 4, Op: op.Add{Key: []byte("other"), Delta: 1}},
		{Session: 2, Sequence: 1, Op: op.Delete{Key: []byte("n")}},
		{Session: 4, Sequence: 9, Acknowledged: 9, Op: op.Expire{Key: []byte("other"), TTL: 900_000}},
	} {
		run(t, f, 2000, c)
	}
	do(t, f, 1000+op.MinSessionTTL, op.Sweep{Limit: 9})
	return persist(t, takeSnapshot(t, f))
}

// refuses expects that f refuses the snapshot and stays as it is.
func refuses(t *testing.T, f *FSM, what string, snapshot []byte) error {
	t.Helper()
	before := f.state
	err := restore(f, snapshot)
	if err == nil {
		t.Errorf("%s: restored", what)
	}
	if f.state != before {
		t.Errorf("%s: the state was replaced", what)
	}
	return err
}

func TestRestoreRefusesDamage(t *testing.T) {
	t.Parallel()
	snapshot := smallSnapshot(t)
	f := limited(5000)
	do(t, f, 1, set("mine", "v"))
	before, mark := dump(f), f.Mark()
	for i := range snapshot {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := bytes.Clone(snapshot)
			damaged[i] ^= flip
			refuses(t, f, fmt.Sprintf("byte %d of %d flipped by %#x", i, len(snapshot), flip), damaged)
		}
		refuses(t, f, fmt.Sprintf("cut to %d of %d bytes", i, len(snapshot)), snapshot[:i])
	}
	refuses(t, f, "a byte behind the end", append(bytes.Clone(snapshot), 0))
	refuses(t, f, "two snapshots", append(bytes.Clone(snapshot), snapshot...))
	if got := dump(f); got != before || f.Mark() != mark {
		t.Errorf("state\n%swant\n%s", got, before)
	}
	if err := restore(f, snapshot); err != nil {
		t.Errorf("the snapshot without damage: %v", err)
	}
}

func TestRestoreSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	snapshot := smallSnapshot(t)
	change := func(at int, b ...byte) []byte {
		s := bytes.Clone(snapshot)
		copy(s[at:], b)
		return s
	}
	firstBlock := preambleSize + 8 + binary.Size(header{}) + 4
	tests := []struct {
		behaviour string
		snapshot  []byte
		want      string
	}{
		{"empty", nil, "cut off at byte 0"},
		{"another file", change(0, 'P', 'K'), `starts with "PKSN"`},
		{"a newer format", change(7, 5), "format 5; this program reads format 4"},
		{"the format before transactions", change(7, 2), "format 2; this program reads format 4"},
		{"the format before sessions", change(7, 1), "format 1; this program reads format 4"},
		{"damaged header", change(preambleSize+8, 0xff), "header: the frame at byte 8 is damaged"},
		{"damaged block", change(firstBlock+8+blockHead, 0xff), fmt.Sprintf("the frame at byte %d is damaged", firstBlock)},
		{"cut in a block", snapshot[:firstBlock+20], fmt.Sprintf("cut off at byte %d", firstBlock+20)},
		{"cut before the trailer", snapshot[:len(snapshot)-36], fmt.Sprintf("trailer: it is cut off at byte %d", len(snapshot)-36)},
		{"damaged trailer", change(len(snapshot)-5, 0xff), "trailer: the frame"},
		{"bytes behind the end", append(bytes.Clone(snapshot), 1), fmt.Sprintf("bytes follow its end at byte %d", len(snapshot))},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			err := refuses(t, New(Config{Group: "g7"}), test.behaviour, test.snapshot)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "g7") {
				t.Errorf("error %v, want one with %q that names the group", err, test.want)
			}
		})
	}
}

func TestRestoreRefusesAnotherSnapshotsHeader(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, set("a", "1"))
	early := persist(t, takeSnapshot(t, f))
	f.Apply(&raft.Log{Index: 9, Type: raft.LogConfiguration})
	late := persist(t, takeSnapshot(t, f))
	head := preambleSize + 8 + binary.Size(header{}) + 4
	err := refuses(t, f, "the header of index 1 before the blocks of index 9", append(early[:head:head], late[head:]...))
	if err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("error %v, want one about the checksum", err)
	}
}

// seal writes a snapshot with right checksums around any header and blocks. Counts
// that h leaves at 0 are made right.
func seal(t failer, h header, digest uint64, blocks ...[]byte) []byte {
	t.Helper()
	return sealSessions(t, h, digest, blocks, nil)
}

// sealSessions is seal with session blocks.
func sealSessions(t failer, h header, digest uint64, blocks, sessions [][]byte) []byte {
	t.Helper()
	var count tally
	for _, b := range sessions {
		_, _ = count.session(b)
	}
	if h.Sessions == 0 {
		h.Sessions = uint64(len(sessions))
	}
	if h.SessionBytes == 0 {
		h.SessionBytes = count.sessionBytes
	}
	for _, b := range blocks {
		_ = count.block(b) // the block may be wrong: that is the reader's to find
	}
	if h.Slots == 0 {
		h.Slots = uint64(len(blocks))
	}
	if h.Records == 0 {
		h.Records = count.records
	}
	if h.Bytes == 0 {
		h.Bytes = count.bytes
	}
	if digest == 0 {
		digest = count.digest(h)
	}
	var out bytes.Buffer
	w := newFrameWriter(&out)
	err := errors.Join(w.preamble(), w.fields(h))
	for _, b := range slices.Concat(blocks, sessions) {
		err = errors.Join(err, w.frame(b))
	}
	err = errors.Join(err, w.fields(trailer{Records: h.Records, Digest: digest, Checksum: w.whole.Sum64()}), w.out.Flush())
	if err != nil {
		t.Fatalf("seal: %v", err)
	}
	return out.Bytes()
}

func TestRestoreRefusesWhatNoStateWrites(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, set("a", "1"), set("b", "2"))
	slotA, slotB := op.SlotOf([]byte("a")), op.SlotOf([]byte("b"))
	a, b := blockOf(f.state, slotA), blockOf(f.state, slotB)
	if slotA > slotB {
		a, b = b, a
	}
	change := func(at int, with byte) []byte {
		c := bytes.Clone(a)
		c[at] = with
		return c
	}
	h := header{MaxBytes: 1000, Stamp: 2}
	alone := header{MaxBytes: 1000, Stamp: 2, Bytes: cost("a", "1")}
	tests := []struct {
		behaviour string
		snapshot  []byte
		want      string // part of the error, "" if there is none
	}{
		{"nothing wrong", seal(t, h, 0, a, b), ""},
		{"blocks out of order", seal(t, h, 0, b, a), "follows slot"},
		{"a block twice", seal(t, h, 0, a, a), "follows slot"},
		{"a slot past the last", seal(t, alone, 0, change(0, 0xff)), "over the last one"},
		{"a slot without versions", seal(t, h, 0, a[:2:2], make([]byte, 10)), "too few"},
		{"a version counter of 0", seal(t, alone, 0, change(9, 0)), "never written"},
		{"a record of another slot", seal(t, alone, 0, change(len(a)-2, 'z')), "belongs to slot"},
		{"a version over the counter", seal(t, alone, 0, change(blockHead+15, 9)), "over the slot's counter"},
		{"unknown flags", seal(t, alone, 0, change(blockHead+32, 2)), "flags 0x2"},
		{"a record's head cut off", seal(t, alone, 0, a[:blockHead+5]), "cut off"},
		{"a record cut off", seal(t, alone, 0, a[:len(a)-1]), "cut off"},
		{"a stamp over the count", seal(t, header{MaxBytes: 1000, Stamp: 1}, 0, a, b), "stamp"},
		{"fewer slots than announced", seal(t, header{MaxBytes: 1000, Stamp: 2, Slots: 3}, 0, a, b), "follows slot"},
		{"more slots than announced", seal(t, header{MaxBytes: 1000, Stamp: 2, Slots: 1}, 0, a, b), "trailer"},
		{"another count of records", seal(t, header{MaxBytes: 1000, Stamp: 2, Records: 3}, 0, a, b), "3"},
		{"another count of bytes", seal(t, header{MaxBytes: 1000, Stamp: 2, Bytes: 500}, 0, a, b), "500"},
		{"a negative count of bytes", seal(t, header{MaxBytes: 1000, Stamp: 2, Bytes: -1}, 0, a, b), "-1 bytes"},
		{"another digest", seal(t, h, 77, a, b), "digest"},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			if test.want == "" {
				restored(t, test.snapshot)
				return
			}
			err := refuses(t, New(Config{}), test.behaviour, test.snapshot)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestRestoreTakesNoMemoryForALength is not parallel: it measures what is allocated.
func TestRestoreTakesNoMemoryForALength(t *testing.T) {
	snapshot := seal(t, header{MaxBytes: math.MaxInt64, Bytes: math.MaxInt64, Slots: 1}, 1)
	block := preambleSize + 8 + binary.Size(header{}) + 4
	for _, length := range []uint64{4 << 30, maxFrame, math.MaxInt64, math.MaxUint64} {
		binary.BigEndian.PutUint64(snapshot[block:], length)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		refuses(t, New(Config{}), fmt.Sprintf("a block of %d bytes", length), snapshot)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
			t.Errorf("a length of %d made it allocate %d bytes", length, got)
		}
	}
}

func TestCountsOutliveARestore(t *testing.T) {
	t.Parallel()
	f := limited(100)
	do(t, f, 0, set("a", "1"), set("b", "1"), op.Expire{Key: []byte("b"), TTL: 5})
	do(t, f, 5, op.Sweep{Limit: 1})
	if err := restore(f, smallSnapshot(t)); err != nil {
		t.Fatal(err)
	}
	if s := f.Stats(); s.Evicted != 1 || s.Expired != 1 || s.Keys != 3 {
		t.Errorf("%+v, want 1 evicted, 1 expired and the snapshot's 3 keys", s)
	}
}

func TestRestoreRefusesSessionsThatNoStateHas(t *testing.T) {
	t.Parallel()
	const now = 50_000
	good := func() *session {
		ok := (&op.Result{Version: 1}).AppendTo(nil)
		return &session{id: 7, ttl: op.MinSessionTTL, deadline: now, floor: 3, answers: answers{memory: []answer{newAnswer(7, 3, ok), newAnswer(7, 5, ok)}}}
	}
	changed := func(change func(x *session)) []byte {
		x := good()
		change(x)
		return appendSession(nil, x)
	}
	plain := appendSession(nil, good())
	earlier := changed(func(x *session) { x.id = 6 })
	h := header{MaxBytes: 1000, Time: now, Opened: 7}
	with := func(change func(h *header)) header {
		c := h
		change(&c)
		return c
	}
	one := with(func(h *header) { h.SessionBytes = 1 << 30 })
	tests := []struct {
		behaviour string
		header    header
		sessions  [][]byte
		want      string // part of the error, "" if there is none
	}{
		{"nothing wrong", h, [][]byte{earlier, plain}, ""},
		{"out of order", h, [][]byte{plain, earlier}, "session 6 follows session 7"},
		{"twice", h, [][]byte{plain, plain}, "session 7 follows session 7"},
		{"id 0", one, [][]byte{changed(func(x *session) { x.id = 0 })}, "session 0 follows"},
		{"more than were opened", with(func(h *header) { h.Opened = 6 }), [][]byte{plain}, "only 6 were opened"},
		{"too short a ttl", one, [][]byte{changed(func(x *session) { x.ttl = op.MinSessionTTL - 1 })}, "ttl of 9999"},
		{"too long a ttl", one, [][]byte{changed(func(x *session) { x.ttl = op.MaxSessionTTL + 1 })}, "ttl of"},
		{"used in the future", h, [][]byte{changed(func(x *session) { x.deadline = now + x.ttl + 1 })}, "deadline 60001"},
		{"used before all time", h, [][]byte{changed(func(x *session) { x.deadline = x.ttl - 1 })}, "deadline 9999"},
		{"a deadline that wraps", h, [][]byte{changed(func(x *session) { x.deadline = math.MinInt64 })}, "deadline -"},
		{"floor 0", one, [][]byte{changed(func(x *session) { x.floor = 0 })}, "sequence 0"},
		{"an acknowledged answer", one, [][]byte{changed(func(x *session) { x.floor = 4 })}, "answer to 3 comes where one to 4"},
		{"an answer twice", one, [][]byte{changed(func(x *session) { x.answers.memory[1].sequence = 3 })}, "answer to 3 comes where one to 4"},
		{"no result", one, [][]byte{changed(func(x *session) { x.answers.memory[0] = newAnswer(7, 3, []byte{0x07}) })}, "the answer to 3: result"},
		{"too many answers", one, [][]byte{changed(func(x *session) {
			for i := range uint64(op.MaxUnacknowledged) {
				x.answers.insert(x.answers.len(), answer{sequence: 6 + i, length: 1, short: [shortAnswer]byte{0x90}})
			}
		})}, "4098 answers"},
		{"an answer's head cut off", one, [][]byte{plain[:len(plain)-7]}, "cut off"},
		{"an answer cut off", one, [][]byte{plain[:len(plain)-1]}, "cut off"},
		{"a session cut off", one, [][]byte{plain[:sessionHead-1]}, "too few"},
		{"fewer than announced", with(func(h *header) { h.Sessions = 2 }), [][]byte{plain}, "too few"},
		{"another count of bytes", with(func(h *header) { h.SessionBytes = 500 }), [][]byte{plain}, "of 500"},
		{"a negative count of bytes", with(func(h *header) { h.SessionBytes = -1 }), nil, "-1 of sessions"},
		{"more sessions than there can be", with(func(h *header) { h.Sessions = op.MaxSessions + 1 }), nil, "16385 sessions"},
		{"a time before all time", with(func(h *header) { h.Time = -1 }), nil, "time of -1"},
		{"a time after all time", with(func(h *header) { h.Time = maxTime + 1 }), nil, "time of"},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			snapshot := sealSessions(t, test.header, 0, nil, test.sessions)
			if test.want == "" {
				restored(t, snapshot)
				return
			}
			err := refuses(t, New(Config{}), test.behaviour, snapshot)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
