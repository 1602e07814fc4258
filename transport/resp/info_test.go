package resp

import (
	"net"
	"strings"
	"testing"
)

func TestInfoTellsThePort(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("no address %s here: %v", host, err)
			continue
		}
		_, addr := startServer(t, ServerConfig{Node: newTestNode(t), Listener: l})
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := dial(t, addr).do("INFO server"); !strings.Contains(got, "\r\ntcp_port:"+port+"\r\n") {
			t.Errorf("at %s: %q, want tcp_port:%s", addr, got, port)
		}
	}
}
