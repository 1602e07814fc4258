package raftfsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/ringraft/ringraft/op"
)

const (
	benchKeys  = 100_000
	benchValue = 128 // bytes
)

func benchKey(i int) []byte { return fmt.Appendf(nil, "key-%012d", i%benchKeys) }

// benchFSM holds benchKeys records under a limit that leaves room for spare more.
func benchFSM(b *testing.B, spare int64) *FSM {
	f := New(Config{})
	value := bytes.Repeat([]byte{'v'}, benchValue)
	for i := 0; i < benchKeys; i += 100 {
		var ops []op.Write
		for j := range 100 {
			ops = append(ops, op.Set{Key: benchKey(i + j), Value: value})
		}
		do(b, f, 1, ops...)
	}
	each := f.Stats().Bytes / benchKeys
	do(b, f, 1, op.Configure{Settings: op.GroupSettings{MaxBytes: each * (benchKeys + spare)}})
	return f
}

// benchEntries returns entries of 64 sets each that walk over the keys with stride.
func benchEntries(key func(i int) []byte) [][]byte {
	value := bytes.Repeat([]byte{'w'}, benchValue)
	entries := make([][]byte, 512)
	for n := range entries {
		var ops []op.Write
		for i := range 64 {
			ops = append(ops, op.Set{Key: key(64*n + i), Value: value})
		}
		entries[n] = entryOf(2, nil, ops...)
	}
	return entries
}

func benchApply(b *testing.B, f *FSM, entries [][]byte) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		applyEntry(b, f, entries[n%len(entries)])
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(64*n), "ns/set")
}

// BenchmarkApply applies entries of 64 sets of existing keys.
func BenchmarkApply(b *testing.B) {
	benchApply(b, benchFSM(b, 1), benchEntries(func(i int) []byte { return benchKey(i * 7919) }))
}

// BenchmarkApplyInSessions applies entries of 64 sets of existing keys, dealt out to
// sessions, whose holders have so many writes under way each and acknowledge the rest.
func BenchmarkApplyInSessions(b *testing.B) {
	for _, bc := range []struct{ sessions, underWay uint64 }{{1, 64}, {1, 4000}, {64, 1}, {op.MaxSessions, 1}} {
		b.Run(fmt.Sprintf("sessions=%d/under-way=%d", bc.sessions, bc.underWay), func(b *testing.B) {
			f := benchFSM(b, 1)
			do(b, f, 1, op.Configure{Settings: op.GroupSettings{MaxBytes: 1 << 30}})
			for range bc.sessions {
				open(b, f, 1)
			}
			entries := make([][]byte, 512)
			for n := range entries {
				var eb op.EntryBuilder
				for i := range 64 {
					key := benchKey((64*n + i) * 7919)
					eb.Add(op.Append(make([]byte, wideHead, 256), op.Set{Key: key, Value: make([]byte, benchValue)}))
				}
				entries[n] = eb.Build(2, nil)
			}
			b.ReportAllocs()
			next, n := uint64(0), 0
			for b.Loop() {
				entry := entries[n%len(entries)]
				number(entry, 64, &next, bc.sessions, bc.underWay)
				if res := applyEntry(b, f, entry)[63]; res.Err != nil {
					b.Fatal(res.Err)
				}
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(64*n), "ns/set")
		})
	}
}

// wideHead is the length of a command before its operation, with numbers at full width.
const wideHead = 1 + 3*9

// number gives the entry's commands, all of one length, to sessions in turn.
func number(entry []byte, commands int, next *uint64, sessions, underWay uint64) {
	const size = wideHead + 1 + 1 + 2 + 16 + 2 + benchValue + 4
	for at := len(entry) - commands*size; at < len(entry); at += size {
		sequence := *next/sessions + 1
		entry[at] = 0x94
		for i, v := range []uint64{*next%sessions + 1, sequence, sequence - min(sequence, underWay) + 1} {
			entry[at+1+9*i] = 0xcf
			binary.BigEndian.PutUint64(entry[at+2+9*i:], v)
		}
		*next++
	}
}

// BenchmarkApplyEvicting applies entries of 64 sets of new keys to a full state.
func BenchmarkApplyEvicting(b *testing.B) {
	f := benchFSM(b, 0)
	entries := benchEntries(benchKey)
	b.ReportAllocs()
	next, n := uint64(0), 0
	for b.Loop() {
		entry := entries[n%len(entries)]
		renew(entry, &next)
		applyEntry(b, f, entry)
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(64*n), "ns/set")
}

// renew gives the entry's sets keys that no entry had before.
func renew(entry []byte, next *uint64) {
	at := 0
	for range 64 {
		at += bytes.Index(entry[at:], []byte("key-"))
		*next++
		binary.BigEndian.PutUint64(entry[at+8:], *next)
		at += 16
	}
}

// BenchmarkRead reads and encodes the answers, with memory for the values and without.
func BenchmarkRead(b *testing.B) {
	for name, memory := range map[string][]byte{"own": nil, "given": make([]byte, 0, benchValue)} {
		b.Run("memory="+name, func(b *testing.B) {
			f := benchFSM(b, 1)
			var reads [1024]op.Read
			for i := range reads {
				reads[i] = op.Get{Key: benchKey(i * 7919)}
			}
			b.ReportAllocs()
			i := 0
			var answer []byte
			for b.Loop() {
				res, _ := f.ReadInto(memory, reads[i%len(reads)], 1, nil)
				if answer = res.AppendTo(answer[:0]); !res.Found {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	f := benchFSM(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		snap := takeSnapshot(b, f)
		var s sink
		s.Grow(32 << 20)
		if err := snap.Persist(&s); err != nil {
			b.Fatal(err)
		}
		snap.Release()
	}
}

func BenchmarkRestore(b *testing.B) {
	snapshot := persist(b, takeSnapshot(b, benchFSM(b, 1)))
	b.SetBytes(int64(len(snapshot)))
	b.ReportAllocs()
	for b.Loop() {
		if err := restore(New(Config{}), snapshot); err != nil {
			b.Fatal(err)
		}
	}
}
