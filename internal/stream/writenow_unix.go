//go:build unix

package stream

import (
	"net"
	"syscall"
)

// writeNow writes what conn takes without blocking, perhaps nothing, and returns how
// many bytes that were. An error shows at the next write.
func writeNow(conn net.Conn, b []byte) (n int) {
	socket, ok := conn.(syscall.Conn)
	if !ok || len(b) == 0 {
		return 0
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), b)
		return true
	})
	return max(n, 0)
}
