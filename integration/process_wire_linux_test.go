package integration

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestGarbageOnThePortsDisturbsNobody sends what is no frame, or half of one, or
// announces gigabytes, to the native and the peer ports, while a client works. No
// node ends, none takes the memory announced, and the client sees no error.
func TestGarbageOnThePortsDisturbsNobody(t *testing.T) {
	t.Parallel()
	const room = 128 << 20 // bytes; what the connections announce is a hundred times as much
	c := startCluster(t, 3)
	before := map[*liveNode]int{}
	for _, n := range c.nodes {
		before[n] = n.peakMemory()
	}
	var attack sync.WaitGroup
	for _, n := range c.nodes {
		for _, addr := range []string{n.native, n.peer} {
			for name, garbage := range garbages() {
				attack.Go(func() {
					if err := throw(addr, garbage); err != nil {
						t.Errorf("%s to %s of %s: %v", name, addr, n.id, err)
					}
				})
			}
		}
	}
	gone := make(chan struct{})
	go func() { defer close(gone); attack.Wait() }()
	calls := c.workUntil(gone)
	t.Logf("%d calls meanwhile", calls)
	for _, n := range c.nodes {
		if grown := n.peakMemory() - before[n]; grown > room {
			t.Errorf("%s took %d bytes more; want at most %d", n.id, grown, room)
		}
		if !n.running() {
			t.Errorf("%s has ended", n.id)
		}
	}
	c.waitCaughtUp()
}

// garbages returns what to send, by what it is.
func garbages() map[string][]byte {
	noise := make([]byte, 64<<10)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	return map[string][]byte{
		"nothing":              {},
		"one byte":             {1},
		"noise":                noise,
		"zeros":                make([]byte, 64<<10),
		"a TLS hello":          []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("r", 505)),
		"an HTTP request":      []byte("GET / HTTP/1.1\r\nHost: ringraft\r\n\r\n"),
		"a RESP command":       []byte("*2\r\n$3\r\nGET\r\n$536870912\r\n"),
		"the largest length":   {0xff, 0xff, 0xff, 0xff, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
		"length zero":          make([]byte, 16),
		"half a large frame":   halfFrame(16<<20, 1, 1),
		"half a peer's frame":  halfPeerFrame(60 << 20),
		"an unknown version":   halfFrame(64, 9, 1),
		"an unknown type":      halfFrame(64, 1, 77),
		"a negative length":    {0x80, 0, 0, 0, 1, 1, 0, 0},
		"a wrong checksum":     append(halfFrame(12+4, 1, 1), 0x93, 0, 0, 0xc0),
		"a reply, not a query": append(halfFrame(12+1, 1, 2), 0x90),
	}
}

// halfFrame is the header of a native frame of length bytes.
func halfFrame(length uint32, version, kind byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, length)
	return append(b, version, kind, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
}

// halfPeerFrame is the beginning of a frame between nodes: length and sum, then a hello.
func halfPeerFrame(length uint32) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, length), 0, 0, 0, 0, 1, 0, 0, 0)
}

// throw sends garbage on some connections at once and waits a while for each to be
// closed. One that the node keeps open, in hope of the rest, is closed from here.
func throw(addr string, garbage []byte) error {
	const connections, hope = 10, 3 * time.Second
	var conns []net.Conn
	for range connections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write(garbage); err != nil {
			continue // the node has seen enough
		}
		conns = append(conns, conn)
	}
	end := time.Now().Add(hope)
	for _, conn := range conns {
		if err := conn.SetReadDeadline(end); err != nil {
			return err
		}
		answer, _ := io.ReadAll(io.LimitReader(conn, 1<<20)) // an error is as good as an end
		if len(answer) >= 1<<16 {
			return fmt.Errorf("an answer of %d bytes", len(answer))
		}
	}
	return nil
}

// workUntil writes and reads until gone is closed, without any error, and returns how
// many calls it made.
func (c *liveCluster) workUntil(gone <-chan struct{}) int {
	c.t.Helper()
	for i := 0; ; i++ {
		select {
		case <-gone:
			return 2 * i
		default:
		}
		key, value := fmt.Sprintf("work-%d", i%100), fmt.Sprint(i)
		c.set(key, value)
		c.want(key, value)
	}
}

// peakMemory returns the most bytes of memory that the process has had.
func (n *liveNode) peakMemory() int {
	n.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.Pid))
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var kib int
		if k, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); k == 1 {
			return kib << 10
		}
	}
	n.t.Fatalf("no peak of memory in %s", b)
	return 0
}
