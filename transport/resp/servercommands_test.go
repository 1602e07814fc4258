package resp

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestServerCommandsAnswer what is real here, of which a Redis server says something else.
func TestServerCommandsAnswer(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	c := connect(t, node)
	_, port, err := net.SplitHostPort(c.conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.want("SET k value", "+OK")
	for _, tc := range []struct{ line, want string }{ // want is part of the answer
		{"CLIENT ID", ":1"},
		{"CLIENT SETINFO LIB-NAME lib", "+OK"},
		{"CLIENT SETINFO lib-ver 1.2", "+OK"},
		{"CLIENT SETINFO OTHER x", "-ERR Unrecognized option 'OTHER'"},
		{"CLIENT INFO", "lib-name=lib lib-ver=1.2"},
		{"CLIENT LIST ID 1 2", "id=1 addr=" + c.conn.LocalAddr().String()},
		{"CLIENT LIST ID x", "-ERR Invalid client ID"},
		{"CLIENT NO-TOUCH ON", "+OK"},
		{"COMMAND INFO get nothing", "[[get :2 [+readonly +fast] :1 :1 :1"},
		{"COMMAND DOCS get nothing", "[get [summary Returns the string value of a key.]]"},
		{"COMMAND LIST FILTERBY PATTERN gets*", "[getset]"},
		{"COMMAND LIST FILTERBY MODULE x", "-ERR syntax error"},
		{"CONFIG GET MAX-b*", "[max-bytes 1MiB]"},
		{"CONFIG GET appendonly databases", "[appendonly yes databases 1]"},
		{"CONFIG SET appendonly no", "-ERR Unknown option or number of arguments for CONFIG SET - 'appendonly'"},
		{"INFO", "tcp_port:" + port},
		{"INFO server", "ringraft_node:n2"},
		{"INFO keyspace", "db0:keys=1,"},
		{"INFO nothing", ""},
		{"ROLE", "[master :0 []]"},
		{"WAIT 2 1000", ":1"},
		{"WAITAOF 1 1 0", "[:1 :1]"},
		{"WAITAOF 1 x 0", "-ERR value is not an integer or out of range"},
		{"READONLY", "+OK"},
		{"READWRITE", "+OK"},
		{"LATENCY HISTORY command", "[]"},
		{"MEMORY USAGE k SAMPLES 5", ":" + strconv.Itoa(len("k")+len("value")+recordCost)},
		{"MEMORY USAGE missing", "nil"},
		{"FUNCTION LIST", "[]"},
		{"HELLO 3", "[server redis version " + likeRedis + " proto :3 id :1 mode "},
		{"CONFIG GET databases", "[databases 1]"},
		{"GET missing", "nil"},
		{"READMODE local", "+OK"},
		{"RESET", "+RESET"},
		{"READMODE", "session"},
		{"HELLO", "proto :2"},
	} {
		if got := c.do(tc.line); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %.300q, want %q in it", tc.line, got, tc.want)
		}
	}
	if count, list := c.do("COMMAND COUNT"), strings.Fields(c.do("COMMAND LIST")); count != ":"+strconv.Itoa(len(list)) {
		t.Errorf("COMMAND COUNT is %s, and COMMAND LIST has %d", count, len(list))
	}
	before := time.Now().Unix()
	var seconds int64
	if now := strings.Fields(strings.Trim(c.do("TIME"), "[]")); len(now) == 2 {
		seconds, _ = strconv.ParseInt(now[0], 10, 64)
	}
	if seconds < before || seconds > time.Now().Unix() {
		t.Errorf("TIME is %d, want the time", seconds)
	}
}
