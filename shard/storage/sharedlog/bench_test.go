package sharedlog

import "testing"

// BenchmarkOpen opens a log of 64 MiB in entries of 1 KiB, as a node does at its start.
func BenchmarkOpen(b *testing.B) {
	const size, count = 1 << 10, 64 << 10
	d := directory(b.TempDir())
	l, err := open(d, Config{})
	if err != nil {
		b.Fatal(err)
	}
	v := createView(b, l, ID{1, 1})
	for i := uint64(1); i <= count; i += 1024 {
		store(b, v, run(i, i+1023, 1, size)...)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size * count)
	b.ReportAllocs()
	for b.Loop() {
		l, err := open(d, Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
