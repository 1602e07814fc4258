package shard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

var errNoMajority = errors.New("too few voters agreed")

// readIndex lets the leader answer with the latest state. A round notes the commit
// index, then asks a majority of voters whether its term is still theirs, then waits
// until the state machine has reached the index. A leader elected in a later term
// before the round began has its term with a majority, of which at least one voter
// would say so. All reads that arrive during a round share the next one.
//
// No read rests on Raft's own VerifyLeader: it counts non-voters, and answers to
// requests sent before it was asked.
type readIndex struct {
	replica *replica
	confirm func(ctx context.Context, voter raft.ServerID, term uint64) bool
	refusal func() *op.Error
	proved  func(proof) // told of each round that succeeds
	timeout time.Duration

	rounds *rounds[func(index uint64, err *op.Error)]
	asking sync.WaitGroup
}

func newReadIndex(r *replica, confirm func(context.Context, raft.ServerID, uint64) bool, refusal func() *op.Error, proved func(proof), timeout time.Duration) *readIndex {
	ri := &readIndex{replica: r, confirm: confirm, refusal: refusal, proved: proved, timeout: timeout}
	ri.rounds = newRounds(ri.round)
	return ri
}

// add calls then after a round that begins after this call. Without an error, the
// state shows all that was acknowledged before, which the log has up to index.
func (ri *readIndex) add(then func(index uint64, err *op.Error)) {
	if !ri.rounds.add(then) {
		then(0, op.Unavailable("too many linearizable reads are waiting, or the replica is stopping"))
	}
}

// index is add for a caller that waits, which it does until ctx ends.
func (ri *readIndex) index(ctx context.Context) (uint64, error) {
	type outcome struct {
		index uint64
		err   *op.Error
	}
	done := make(chan outcome, 1)
	ri.add(func(index uint64, err *op.Error) { done <- outcome{index, err} })
	select {
	case o := <-done:
		return o.index, asError(o.err)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (ri *readIndex) round(ctx context.Context, waiting []func(uint64, *op.Error)) {
	began := time.Now()
	index, err := ri.learn(ctx)
	if err == nil {
		ri.proved(proof{at: began, index: index})
	}
	for _, then := range waiting {
		then(index, err)
	}
}

// learn returns the index that the state has reached and up to which it was
// committed when this was called.
func (ri *readIndex) learn(ctx context.Context) (uint64, *op.Error) {
	ctx, cancel := context.WithTimeout(ctx, ri.timeout)
	defer cancel()
	term := ri.replica.readyTerm()
	if term == 0 {
		return 0, ri.refusal()
	}
	index := min(ri.replica.raft.CommitIndex(), ri.replica.logs.durable()) // nobody was told of more
	if err := ri.majority(ctx, term); err != nil {
		return 0, op.Unavailable("no majority confirmed the leader: %v", err)
	}
	if ri.replica.readyTerm() != term {
		return 0, ri.refusal()
	}
	if err := ri.replica.machine.Wait(ctx, index); err != nil {
		return 0, op.Unavailable("the state machine did not reach index %d: %v", index, err)
	}
	return index, nil
}

// majority asks the other voters, all at once, until enough have confirmed term.
func (ri *readIndex) majority(ctx context.Context, term uint64) error {
	if mutant.SkipRound {
		return nil
	}
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
		ri.asking.Go(func() { answers <- ri.confirm(ctx, v.ID, term) })
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
	ri.rounds.close()
	ri.asking.Wait()
}
