package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// redisConn is a bare connection to a server that speaks the Redis protocol.
type redisConn struct {
	conn net.Conn
	in   *bufio.Reader
}

// dialRedis returns a connection once addr takes one.
func dialRedis(t *testing.T, addr string) *redisConn {
	t.Helper()
	var c *redisConn
	eventually(t, "a connection to "+addr, func() error {
		conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err != nil {
			return err
		}
		c = &redisConn{conn, bufio.NewReader(conn)}
		return nil
	})
	t.Cleanup(func() { c.conn.Close() })
	return c
}

// send sends a command without waiting for its answer.
func (c *redisConn) send(args ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	_, err := io.WriteString(c.conn, b.String())
	return err
}

// read returns an answer as it came.
func (c *redisConn) read() (string, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return line, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:])) // 0 where none stands
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(c.in, body)
		return line + string(body), err
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			part, err := c.read()
			if err != nil {
				return line, err
			}
			line += part
		}
	}
	return line, nil
}

// do sends a command and returns its answer.
func (c *redisConn) do(args ...string) (string, error) {
	if err := c.send(args...); err != nil {
		return "", err
	}
	return c.read()
}

// must is do for a command that is answered, with an error or not.
func (c *redisConn) must(t *testing.T, args ...string) string {
	t.Helper()
	answer, err := c.do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return answer
}

// bulk is the answer that is a byte string.
func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
