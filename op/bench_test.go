package op_test

import (
	"testing"

	"github.com/ringraft/ringraft/op"
)

const benchOps = 64 // of an entry

func benchSet() op.Command {
	return op.Command{Session: 7, Sequence: 1 << 20, Acknowledged: 1<<20 - 64, Op: op.Set{Key: []byte("bench:123456"), Value: make([]byte, 128)}}
}

func benchRequests() map[string]op.Request {
	set := benchSet()
	return map[string]op.Request{
		"get": {Epoch: 5, Op: op.Get{Key: []byte("bench:123456")}},
		"set": {Epoch: 5, Session: set.Session, Sequence: set.Sequence, Acknowledged: set.Acknowledged, Op: set.Op},
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	for name, req := range benchRequests() {
		b.Run(name, func(b *testing.B) {
			var memory []byte
			b.ReportAllocs()
			for b.Loop() {
				memory = req.AppendTo(memory[:0])
			}
			b.SetBytes(int64(len(memory)))
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	for name, req := range benchRequests() {
		b.Run(name, func(b *testing.B) {
			encoded := req.AppendTo(nil)
			b.SetBytes(int64(len(encoded)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := op.DecodeRequest(encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResult(b *testing.B) {
	res := op.Result{Index: 1 << 20, Found: true, Version: 1 << 20, Value: make([]byte, 128)}
	encoded := res.AppendTo(nil)
	b.Run("append", func(b *testing.B) {
		var memory []byte
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			memory = res.AppendTo(memory[:0])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := op.DecodeResult(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEntry builds and reads entries of benchOps sets in a session.
func BenchmarkEntry(b *testing.B) {
	command := op.AppendCommand(nil, benchSet())
	build := func() []byte {
		var eb op.EntryBuilder
		for range benchOps {
			eb.Add(command)
		}
		return eb.Build(1<<40, nil)
	}
	encoded := build()
	b.Run("build", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			build()
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		var sets []op.Set
		for b.Loop() {
			sets = sets[:0]
			entry, err := op.DecodeEntry(encoded)
			entry.Sets = &sets
			for err == nil && entry.Len() > 0 {
				_, err = entry.Next()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
