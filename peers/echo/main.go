// Echo answers every request of Ringraft's native protocol with the same value of 128 bytes,
// and keeps nothing: what a server costs that has only to read and write.
package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "echo:", run(os.Args[1:]))
	os.Exit(1)
}

// run serves until that fails.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("it takes HOST:PORT, got %q", args)
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go serve(conn) // ends with the connection
	}
}

// A frame begins with its length, which does not count itself, and has an id and a checksum;
// see docs/protocol.md.
const (
	header    = 16
	valueSize = 128
	room      = 64 << 10 // for requests that have come; longer ones end the connection
)

// answer returns a response without id and checksum: no error, index 1, version 1, found, the value.
func answer() []byte {
	body := append([]byte{0x96, 0xc0, 1, 0xc2, 1, 0xc3, 0xc4, valueSize}, make([]byte, valueSize)...)
	f := binary.BigEndian.AppendUint32(nil, uint32(header-4+len(body)))
	return append(append(f, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), body...)
}

// serve answers all that has come in one write.
func serve(conn net.Conn) {
	defer conn.Close()
	table, f := crc32.MakeTable(crc32.Castagnoli), answer()
	in, out := make([]byte, 0, room), []byte(nil)
	for {
		n, err := conn.Read(in[len(in):cap(in)])
		if err != nil {
			return // the client has gone, or its requests are too long
		}
		in, out = in[:len(in)+n], out[:0]
		rest := in
		for len(rest) >= header {
			size := 4 + int(binary.BigEndian.Uint32(rest))
			if size < header || size > room {
				return
			}
			if len(rest) < size {
				break
			}
			copy(f[8:12], rest[8:12])
			binary.BigEndian.PutUint32(f[12:], crc32.Update(crc32.Checksum(f[4:12], table), table, f[header:]))
			out, rest = append(out, f...), rest[size:]
		}
		in = in[:copy(in[:cap(in)], rest)]
		if len(out) == 0 {
			continue
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}
