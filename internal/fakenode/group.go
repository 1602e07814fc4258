package fakenode

import (
	"strconv"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/raftfsm"
)

// group is one state machine, which stands for all replicas of a group.
type group struct {
	fsm   *raftfsm.FSM
	index uint64 // of the last entry
}

// groupLocked returns the group, empty at first.
func (c *Cluster) groupLocked(id uint64) *group {
	g := c.groups[id]
	if g == nil {
		g = &group{fsm: raftfsm.New(raftfsm.Config{Group: strconv.FormatUint(id, 10)})}
		c.groups[id] = g
	}
	return g
}

// write applies a command in an entry of its own, at the time now.
func (g *group) write(c op.Command, now int64) op.Result {
	var entry op.EntryBuilder
	entry.Add(op.AppendCommand(nil, c))
	g.index++
	answer := g.fsm.Apply(&raft.Log{Type: raft.LogCommand, Index: g.index, Data: entry.Build(now, nil)})
	results, ok := answer.([]op.Result)
	if !ok {
		return op.Fail(op.UnknownOutcome("the state machine halted: %v", answer))
	}
	res := results[0]
	res.Index = g.index
	return res
}

func (g *group) read(o op.Read, now int64) op.Result {
	res := g.fsm.Read(o, now, nil)
	res.Index = g.index
	return res
}
