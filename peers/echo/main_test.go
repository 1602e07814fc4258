package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"testing"
)

// Two requests, of which the second comes in parts, are answered with their ids.
func TestEchoAnswersWithAValue(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	go serve(far)
	request := append(binary.BigEndian.AppendUint32(nil, 14), make([]byte, 14)...)
	request[11] = 7
	second := bytes.Clone(request)
	second[11] = 8
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, step := range []struct {
		id    byte
		parts [][]byte
	}{{7, [][]byte{append(request, second[:5]...)}}, {8, [][]byte{second[5:10], second[10:]}}} {
		for _, part := range step.parts {
			if _, err := near.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		f := make([]byte, len(answer()))
		if _, err := io.ReadFull(near, f); err != nil {
			t.Fatal(err)
		}
		sum := crc32.Update(crc32.Checksum(f[4:12], table), table, f[header:])
		if f[4] != 1 || f[5] != 2 || f[11] != step.id || binary.BigEndian.Uint32(f[12:]) != sum || int(binary.BigEndian.Uint32(f)) != len(f)-4 {
			t.Errorf("answer %x to request %d", f, step.id)
		}
	}
	if _, err := near.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("a request of 4 GiB is waited for")
	}
}
