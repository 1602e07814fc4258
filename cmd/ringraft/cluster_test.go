package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

func TestStatusJoinsTheMapAndTheNodesAnswers(t *testing.T) {
	t.Parallel()
	m := placement.Map{
		Cluster: "c", Epoch: 9,
		Nodes: []placement.Node{
			{ID: "n1", Native: "h:1", Peer: "h:11"}, {ID: "n2", Native: "h:2", Peer: "h:12"}, {ID: "n3", Native: "h:3", Peer: "h:13"},
		},
		Groups: []placement.Group{{ID: 1, Replicas: []placement.Replica{{Node: "n2"}, {Node: "n1"}, {Node: "n3"}}}, {ID: 2}},
	}
	got, err := json.Marshal(newStatusDocument(m, []op.NodeStatus{
		{Node: "n1", State: "up", Replicas: []op.ReplicaStatus{
			{Group: 0, Role: "leader", Term: 3, Commit: 5, Applied: 5},
			{Group: 1, Role: "leader", Term: 2, Commit: 90, Applied: 90, Keys: 4, Bytes: 400}, // deposed, and does not know it yet
		}},
		{Node: "n2", State: "draining", Redis: "h:22", Replicas: []op.ReplicaStatus{
			{Group: 1, Role: "leader", Term: 7, Commit: 100, Applied: 98, Keys: 5, Bytes: 500, Sessions: 2, SessionBytes: 300, Locks: 1, MemoryUsed: 600, MemoryHeld: 700},
		}},
		{Node: "n3", State: "down"},
	}))
	want := `{"cluster_id":"c","epoch":9,"nodes":[` +
		`{"id":"n1","native":"h:1","peer":"h:11","state":"up"},` +
		`{"id":"n2","native":"h:2","peer":"h:12","redis":"h:22","state":"draining"},` +
		`{"id":"n3","native":"h:3","peer":"h:13","state":"down"}],` +
		`"groups":[{"id":1,"leader":"n2","term":7,"keys":5,"bytes":500,"sessions":2,"session_bytes":300,"locks":1,"replicas":[` +
		`{"node":"n2","role":"leader","applied":98,"lag":2,"memory_used":600,"memory_held":700},` +
		`{"node":"n1","role":"leader","applied":90,"lag":10,"memory_used":0,"memory_held":0},` +
		`{"node":"n3","role":"down","applied":0,"lag":100,"memory_used":0,"memory_held":0}]},` +
		`{"id":2,"leader":"","term":0,"keys":0,"bytes":0,"sessions":0,"session_bytes":0,"locks":0,"replicas":[]}],` +
		`"meta":{"id":0,"leader":"n1","term":3,"keys":0,"bytes":0,"sessions":0,"session_bytes":0,"locks":0,"replicas":[{"node":"n1","role":"leader","applied":5,"lag":0,"memory_used":0,"memory_held":0}]}}`
	if err != nil || string(got) != want {
		t.Errorf("document\n%s, %v\nwant\n%s", got, err, want)
	}
}

func TestClusterStatusAndMembers(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var doc statusDocument
	s.run(t, "cluster", "status", "-o", "json").parse(t, &doc)
	if doc.ClusterID != s.cluster.Map().Cluster || doc.Epoch == 0 || len(doc.Nodes) != 3 || len(doc.Groups) != 4 {
		t.Errorf("document %+v", doc)
	}
	var members struct{ Nodes []nodeStatus }
	s.run(t, "cluster", "members", "-o", "json").parse(t, &members)
	if len(members.Nodes) != 3 || members.Nodes[0].ID != "n1" || members.Nodes[0].Native != s.cluster.Endpoints()[0] {
		t.Errorf("members %+v", members)
	}
	for _, verb := range []string{"status", "members"} {
		o := s.run(t, "cluster", verb)
		if o.code != exitDone || !strings.Contains(o.out, "NODE  STATE") || !strings.Contains(o.out, s.cluster.Endpoints()[2]) {
			t.Errorf("cluster %s: exit code %d, output %q", verb, o.code, o.out)
		}
	}
}

func TestClusterTransfer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	to := "n1"
	if s.cluster.Leader(2) == to {
		to = "n2"
	}
	s.run(t, "cluster", "transfer", "2", "--to", to).check(t, exitDone, to+"\n", "")
	s.run(t, "cluster", "transfer", "2", "--to", to, "-o", "json").check(t, exitDone, `{"group":2,"leader":"`+to+`"}`+"\n", "")
}

func TestClusterConfig(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run(t, "cluster", "config", "get", "max-bytes").check(t, exitDone, "256MiB\n", "")
	s.run(t, "cluster", "config", "set", "max-bytes", "1GiB").check(t, exitDone, "", "")
	s.run(t, "cluster", "config", "get", "max-bytes", "-o", "json").check(t, exitDone, `{"max-bytes":"1GiB"}`+"\n", "")
	var all map[string]string
	s.run(t, "cluster", "config", "get", "-o", "json").parse(t, &all)
	if all["max-bytes"] != "1GiB" || all["max-value-bytes"] != "1MiB" {
		t.Errorf("settings %v", all)
	}
	s.run(t, "cluster", "config", "get", "max-bites").check(t, exitNotFound, "", "max-bites")
	if o := s.run(t, "cluster", "config", "set", "max-bytes", "-1"); o.code != exitUsage || !strings.Contains(o.err, "max-bytes") {
		t.Errorf("a bad value: exit code %d, messages %q", o.code, o.err)
	}
}

func TestReadyWaitsForEveryLeader(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if err := ready(t.Context(), s.cluster.Endpoints()); err != nil {
		t.Errorf("ready: %v", err)
	}
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if req.Op.Code() == op.CodeStatus {
			return &fakenode.Fault{Err: op.Unavailable("starting")}
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := ready(ctx, s.cluster.Endpoints()); exitCode(err) != exitUnavailable {
		t.Errorf("without an answer: err = %v, want unavailable", err)
	}
}
