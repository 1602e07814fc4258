package shard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
)

// maxWaitingReads bounds the linearizable reads of a group that wait for a round.
const maxWaitingReads = 1 << 16

var errNoMajority = errors.New("too few voters agreed")

// readIndex lets the leader answer with the latest state. A round notes the commit
// index, then asks a majority of voters whether its term is still theirs, then waits
// until the state machine has reached the index. A leader elected in a later term
// before the round began has its term with a majority, of which at least one voter
// would say so. All reads that arrive during a round share the next one.
//
// Raft's own VerifyLeader is not used: it counts non-voters, and answers to
// requests sent before it was asked.
type readIndex struct {
	replica *replica
	confirm func(ctx context.Context, voter raft.ServerID, term uint64) bool
	answer  func(o op.Read) op.Result
	refusal func() *op.Error
	timeout time.Duration

	mu      sync.Mutex
	waiting []waitingRead
	running bool
	closed  bool

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

type waitingRead struct {
	op    op.Read
	reply op.Replier
}

func newReadIndex(r *replica, confirm func(context.Context, raft.ServerID, uint64) bool, answer func(op.Read) op.Result, refusal func() *op.Error, timeout time.Duration) *readIndex {
	ri := &readIndex{replica: r, confirm: confirm, answer: answer, refusal: refusal, timeout: timeout}
	ri.ctx, ri.stop = context.WithCancel(context.Background())
	return ri
}

// add answers o after a round that begins after this call.
func (ri *readIndex) add(o op.Read, reply op.Replier) {
	ri.mu.Lock()
	if ri.closed || len(ri.waiting) >= maxWaitingReads {
		ri.mu.Unlock()
		reply.Reply(op.Fail(op.Unavailable("too many linearizable reads are waiting, or the replica is stopping")))
		return
	}
	ri.waiting = append(ri.waiting, waitingRead{o, reply})
	if !ri.running {
		ri.running = true
		ri.wg.Go(ri.run)
	}
	ri.mu.Unlock()
}

// run does rounds until nobody waits.
func (ri *readIndex) run() {
	for {
		ri.mu.Lock()
		reads := ri.waiting
		ri.waiting = nil
		if len(reads) == 0 {
			ri.running = false
			ri.mu.Unlock()
			return
		}
		ri.mu.Unlock()
		err := ri.round()
		for _, r := range reads {
			if err != nil {
				r.reply.Reply(op.Fail(err))
			} else {
				r.reply.Reply(ri.answer(r.op))
			}
		}
	}
}

func (ri *readIndex) round() *op.Error {
	ctx, cancel := context.WithTimeout(ri.ctx, ri.timeout)
	defer cancel()
	term := ri.replica.readyTerm()
	if term == 0 {
		return ri.refusal()
	}
	index := ri.replica.raft.CommitIndex()
	if err := ri.majority(ctx, term); err != nil {
		return op.Unavailable("no majority confirmed the leader: %v", err)
	}
	if ri.replica.readyTerm() != term {
		return ri.refusal()
	}
	if err := ri.replica.machine.Wait(ctx, index); err != nil {
		return op.Unavailable("the state machine did not reach index %d: %v", index, err)
	}
	return nil
}

// majority asks the other voters, all at once, until enough have confirmed term.
func (ri *readIndex) majority(ctx context.Context, term uint64) error {
	voters, err := ri.replica.voters()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	need, asked := len(voters)/2+1, 0
	answers := make(chan bool, len(voters))
	for _, v := range voters {
		if v.ID == ri.replica.id {
			need--
			continue
		}
		asked++
		ri.wg.Go(func() { answers <- ri.confirm(ctx, v.ID, term) })
	}
	for ; need > 0 && asked >= need; asked-- {
		select {
		case yes := <-answers:
			if yes {
				need--
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if need > 0 {
		return errNoMajority
	}
	return nil
}

// close refuses the waiting reads and waits for the round under way.
func (ri *readIndex) close() {
	ri.mu.Lock()
	ri.closed = true
	ri.mu.Unlock()
	ri.stop()
	ri.wg.Wait()
}
