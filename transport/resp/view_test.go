package resp

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// statusOf returns a node's status, its replicas' groups and roles given as "1:leader".
func statusOf(node string, replicas ...string) op.NodeStatus {
	s := op.NodeStatus{Node: node, State: "up", Redis: node + ".example:6379"}
	for i, text := range replicas {
		r := op.ReplicaStatus{Term: uint64(i)}
		if _, err := fmt.Sscanf(strings.Replace(text, ":", " ", 1), "%d %s", &r.Group, &r.Role); err != nil {
			panic(err) // it stands in a test
		}
		s.Replicas = append(s.Replicas, r)
	}
	return s
}

// shown is a view in short: first-last with the nodes, the leader first, ! if none leads.
func shown(v view) string {
	var b strings.Builder
	for _, s := range v.shares {
		fmt.Fprintf(&b, "%d-%d", s.first, s.last)
		if !s.led {
			b.WriteString("!")
		}
		for _, m := range s.nodes {
			b.WriteString(" " + m.node)
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

func TestViewFollowsLeaders(t *testing.T) {
	t.Parallel()
	down := op.NodeStatus{Node: "n1", State: "down"}
	silent := statusOf("n2", "1:leader", "2:follower")
	silent.Redis = ""
	late := statusOf("n3", "1:leader", "2:follower")
	late.Replicas[0].Term = 9
	for _, tc := range []struct {
		name  string
		nodes []op.NodeStatus
		want  string
	}{
		{
			"leaders first, then the others by name",
			[]op.NodeStatus{statusOf("n3", "1:leader", "2:follower"), statusOf("n1", "1:follower", "2:leader"), statusOf("n2", "1:follower", "2:follower")},
			"0-8191 n3 n1 n2\n8192-16383 n1 n2 n3",
		},
		{
			"a node that is down is left out, and so is one without an address",
			[]op.NodeStatus{down, silent, statusOf("n3", "1:follower", "2:leader")},
			"0-8191 n3\n8192-16383 n3",
		},
		{
			"of two leaders the one of the later term",
			[]op.NodeStatus{statusOf("n1", "1:leader", "2:leader"), late},
			"0-8191 n3 n1\n8192-16383 n1 n3",
		},
		{
			"without a leader another replica, without replicas the node asked",
			[]op.NodeStatus{down, statusOf("n2"), statusOf("n3", "1:candidate")},
			"0-8191! n3\n8192-16383! n2",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := newView(tc.nodes, []uint64{1, 2}, "n2")
			if got := shown(v); err != nil || got != tc.want {
				t.Errorf("got\n%s, %v\nwant\n%s", got, err, tc.want)
			}
		})
	}
	if _, err := newView([]op.NodeStatus{down}, []uint64{1}, "n1"); err == nil || !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
		t.Errorf("without any address: %v, want CLUSTERDOWN", err)
	}
}

func TestEverySlotIsInOneShare(t *testing.T) {
	t.Parallel()
	for _, groups := range []int{1, 3, 4, 7, 1024} {
		ids := make([]uint64, groups)
		for i := range ids {
			ids[i] = uint64(i) + 1
		}
		v, err := newView([]op.NodeStatus{statusOf("n1")}, ids, "n1")
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for _, s := range v.shares {
			if size := s.last - s.first + 1; s.first != next || size < redisSlots/groups || size > redisSlots/groups+1 {
				t.Fatalf("%d groups: slots %d-%d after %d", groups, s.first, s.last, next)
			}
			next = s.last + 1
		}
		if next != redisSlots {
			t.Errorf("%d groups: the last slot is %d", groups, next-1)
		}
	}
}

// TestClusterCommandsTellOfAllNodes asks one node of three, then again when it leads no
// more.
func TestClusterCommandsTellOfAllNodes(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	for group, leader := range map[uint64]string{1: "n1", 2: "n2", 3: "n3", 4: "n1"} {
		node.Lead(group, leader)
	}
	server, addr := startServer(t, ServerConfig{Node: node})
	c := dial(t, addr)
	ids, ports := map[string]string{}, map[string]string{}
	for i, address := range node.Endpoints() {
		id := fmt.Sprintf("n%d", i+1)
		_, port, _ := strings.Cut(address, ":")
		ids[id], ports[id] = idOf(id), port
	}
	line := func(id, rest string) string {
		return fmt.Sprintf("%s 127.0.0.1:%s@%s %s\n", ids[id], ports[id], ports[id], rest)
	}
	c.want("CLUSTER NODES", line("n1", "master - 0 0 1 connected 0-4095 12288-16383")+
		line("n2", "myself,master - 0 0 1 connected 4096-8191")+
		line("n3", "master - 0 0 1 connected 8192-12287"))
	for _, word := range []string{"cluster_state:ok", "cluster_slots_ok:16384", "cluster_known_nodes:3", "cluster_size:3"} {
		if got := c.do("CLUSTER INFO"); !strings.Contains(got, word) {
			t.Errorf("CLUSTER INFO: %q, want %s", got, word)
		}
	}
	slots := func(first, last int, nodes ...string) string {
		text := fmt.Sprintf("[:%d :%d", first, last)
		for _, id := range nodes {
			text += fmt.Sprintf(" [127.0.0.1 :%s %s []]", ports[id], ids[id])
		}
		return text + "]"
	}
	c.want("CLUSTER SLOTS", fmt.Sprint([]string{
		slots(0, 4095, "n1", "n2", "n3"), slots(4096, 8191, "n2", "n1", "n3"),
		slots(8192, 12287, "n3", "n1", "n2"), slots(12288, 16383, "n1", "n2", "n3"),
	}))
	shard := func(slots string, nodes ...string) string {
		text, role := "[slots "+slots+" nodes [", "master"
		for i, id := range nodes {
			text += fmt.Sprintf("%[1]s[id %[2]s ip 127.0.0.1 endpoint 127.0.0.1 role %[3]s health online port :%[4]s replication-offset :0]",
				strings.Repeat(" ", min(i, 1)), ids[id], role, ports[id])
			role = "replica"
		}
		return text + "]]"
	}
	c.want("CLUSTER SHARDS", fmt.Sprint([]string{
		shard("[:0 :4095 :12288 :16383]", "n1", "n2", "n3"), shard("[:4096 :8191]", "n2", "n1", "n3"), shard("[:8192 :12287]", "n3", "n1", "n2"),
	}))
	node.Lead(2, "n3")
	server.forget()
	c.want("CLUSTER NODES", line("n1", "master - 0 0 1 connected 0-4095 12288-16383")+
		line("n2", "myself,slave "+ids["n1"]+" 0 0 1 connected")+
		line("n3", "master - 0 0 1 connected 4096-8191 8192-12287"))
}

// TestManyLooksAreOneQuestion: those who look while the nodes are asked wait for that.
func TestManyLooksAreOneQuestion(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	server, _ := startServer(t, ServerConfig{Node: node})
	var looks sync.WaitGroup
	server.viewing.Lock()
	for range 100 {
		looks.Go(func() {
			if _, err := server.look(); err != nil {
				t.Error(err)
			}
		})
	}
	server.viewing.Unlock()
	looks.Wait()
	if n := node.Served(op.CodeStatus); n == 0 || n >= 100 {
		t.Errorf("the nodes were asked %d times by 100 who looked", n)
	}
}

// forget makes the next look ask the nodes.
func (s *Server) forget() {
	s.viewing.Lock()
	defer s.viewing.Unlock()
	s.viewed = s.viewed.Add(-2 * viewLife)
}
