package httpapi

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// crowdedListener closes connections over its limit with an answer, so that clients do
// not wait for one in vain.
type crowdedListener struct {
	net.Listener
	max  int64
	open atomic.Int64
}

func (l *crowdedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.max {
			return &countedConn{Conn: conn, leave: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		turnAway(conn)
	}
}

// turnAway answers without having read anything. A fresh socket takes the few bytes
// without blocking; the deadline is for listeners of another kind.
func turnAway(conn net.Conn) {
	defer conn.Close()
	if conn.SetWriteDeadline(time.Now().Add(100*time.Millisecond)) != nil {
		return
	}
	body := (&problem{status: 503, kind: "crowded", detail: "there are too many connections"}).body()
	// A client that is gone has no use for the reason.
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: %s\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		problemType, len(body), body)
}

// countedConn tells when it is closed.
type countedConn struct {
	net.Conn
	leave func()
}

func (c *countedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite lets net/http end a connection so that the client still reads the answer.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
