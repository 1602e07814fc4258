package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

var (
	_ raft.Transport   = (*replica)(nil)
	_ raft.WithPreVote = (*replica)(nil)
	_ raft.WithClose   = (*replica)(nil)
)

// replica is the raft.Transport of one replica: its share of the Network.
type replica struct {
	net  *Network
	id   raft.ServerID
	ctx  context.Context // ended by Close
	stop context.CancelCauseFunc

	rpcs    chan raft.RPC // what raft has not taken yet
	mu      sync.Mutex    // keeps rpcs and pending in one order
	pending chan delivery // what raft has not answered yet, in the order of rpcs
	base    entryID       // see Network.Base; the zero value precedes all entries
}

// entryID is the place of an entry in the log.
type entryID struct{ index, term uint64 }

// delivery is a message that raft will answer on responses. A channel per message
// rather than one for all makes it impossible to take one answer for another.
type delivery struct {
	conn      *inbound
	id        uint64
	responses <-chan raft.RPCResponse // capacity 1: raft never waits for us
}

var errQueueFull = errors.New("busy: the replica's queue is full")

func newReplica(n *Network, id raft.ServerID) *replica {
	r := &replica{
		net: n, id: id,
		rpcs:    make(chan raft.RPC, n.cfg.MaxQueue),
		pending: make(chan delivery, n.cfg.MaxQueue),
	}
	r.ctx, r.stop = context.WithCancelCause(n.ctx)
	return r
}

// Close ends this replica's traffic. It may be called again. Raft calls it.
func (r *replica) Close() error {
	r.stop(ErrClosed)
	r.net.removeReplica(r)
	return nil
}

// offer queues a request for raft without waiting. Raft's answer goes to the
// connection under this id.
func (r *replica) offer(c *inbound, id uint64, request any) error {
	responses := make(chan raft.RPCResponse, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return ErrClosed
	}
	if m, ok := request.(*raft.AppendEntriesRequest); ok && r.base == (entryID{m.PrevLogEntry, m.PrevLogTerm}) {
		m.PrevLogEntry, m.PrevLogTerm = 0, 0
	}
	if len(r.pending) == cap(r.pending) {
		return errQueueFull
	}
	select {
	case r.rpcs <- raft.RPC{Command: request, RespChan: responses}:
	default:
		return errQueueFull
	}
	r.pending <- delivery{conn: c, id: id, responses: responses} // only we fill it, and there is room
	return nil
}

func (r *replica) rebase(index, term uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base = entryID{index, term}
}

// stand hands raft a TimeoutNow that nobody sent, without waiting.
func (r *replica) stand() error {
	_, err := r.prompt(&raft.TimeoutNowRequest{RPCHeader: r.header()})
	return err
}

// settle waits until raft has handled what has arrived, by a message behind all that: an
// append of term 0, which raft answers and ignores.
func (r *replica) settle(ctx context.Context) error {
	responses, err := r.prompt(&raft.AppendEntriesRequest{RPCHeader: r.header()})
	if err != nil {
		return err
	}
	select {
	case <-responses:
		return nil
	case <-r.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *replica) header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(r.id), Addr: []byte(r.id)}
}

// prompt queues a request of our own for raft, without waiting.
func (r *replica) prompt(request any) (<-chan raft.RPCResponse, error) {
	responses := make(chan raft.RPCResponse, 1) // raft never waits for us
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil, ErrClosed
	}
	select {
	case r.rpcs <- raft.RPC{Command: request, RespChan: responses}:
		return responses, nil
	default:
		return nil, errQueueFull
	}
}

// answer sends raft's answers home, in the order of the questions: raft's main loop
// answers each before it takes the next.
func (r *replica) answer() {
	for {
		select {
		case d := <-r.pending:
			r.finish(d)
		case <-r.ctx.Done():
			r.mu.Lock() // from here on, nothing is offered
			defer r.mu.Unlock()
			for len(r.pending) > 0 {
				r.finish(<-r.pending)
			}
			return
		}
	}
}

// finish waits for raft as long as the replica lives; whoever asked has a deadline
// of its own.
func (r *replica) finish(d delivery) {
	select {
	case response := <-d.responses:
		d.conn.respond(d.id, response)
	case <-r.ctx.Done():
		d.conn.failed(d.id, ErrClosed)
	}
}

// respond sends raft's answer to a message.
func (c *inbound) respond(id uint64, response raft.RPCResponse) {
	if response.Error != nil {
		c.failed(id, response.Error)
		return
	}
	c.out.post(kindReply, id, func(b []byte) []byte { return appendResponse(b, response.Response) })
}

// Consumer returns the messages for raft.
func (r *replica) Consumer() <-chan raft.RPC { return r.rpcs }

// LocalAddr returns the replica's id.
func (r *replica) LocalAddr() raft.ServerAddress { return raft.ServerAddress(r.id) }

// EncodePeer returns the address as it is.
func (r *replica) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }

// DecodePeer returns the address as it is.
func (r *replica) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler does nothing, so heartbeats go through Consumer; the package
// documentation says why.
func (r *replica) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntriesPipeline refuses, see the package documentation.
func (r *replica) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries sends at most MaxAppendBytes of entries, at least one entry, and cuts
// request.Entries to what it sent. It waits ReconnectWait for a lost connection: an
// error makes raft back off, by up to seconds. A heartbeat waits for HeartbeatWait, at
// most, to leave with others.
//
// A follower is told no more of what is committed than it has for certain, which Raft leaves
// to it: it may have further entries, of another leader, that are not the committed ones.
func (r *replica) AppendEntries(id raft.ServerID, _ raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	request.Entries = trim(request.Entries, r.net.cfg.MaxAppendBytes)
	request.LeaderCommitIndex = min(request.LeaderCommitIndex, request.PrevLogEntry+uint64(len(request.Entries)))
	return r.send(id, kindAppend, r.net.cfg.AppendTimeout, r.net.cfg.ReconnectWait, request, response)
}

// RequestVote asks for a vote, and fails at once if there is no connection.
func (r *replica) RequestVote(id raft.ServerID, _ raft.ServerAddress, request *raft.RequestVoteRequest, response *raft.RequestVoteResponse) error {
	return r.send(id, kindVote, r.net.cfg.VoteTimeout, 0, request, response)
}

// RequestPreVote asks for a pre-vote, and fails at once if there is no connection.
func (r *replica) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, request *raft.RequestPreVoteRequest, response *raft.RequestPreVoteResponse) error {
	return r.send(id, kindPreVote, r.net.cfg.VoteTimeout, 0, request, response)
}

// TimeoutNow makes the replica id stand for election, and fails at once if there is
// no connection.
func (r *replica) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, request *raft.TimeoutNowRequest, response *raft.TimeoutNowResponse) error {
	return r.send(id, kindTimeoutNow, r.net.cfg.VoteTimeout, 0, request, response)
}

// send exchanges one message within timeout, of which patience may go by waiting for
// a connection.
func (r *replica) send(to raft.ServerID, k kind, timeout, patience time.Duration, request, response any) error {
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	node, err := nodeOf(to)
	if err != nil {
		return err
	}
	l, err := r.net.link(node)
	if err != nil {
		return err
	}
	s, err := l.await(ctx, patience, true)
	if err != nil {
		return err
	}
	if m, ok := request.(*raft.AppendEntriesRequest); ok && isHeartbeat(m) {
		return s.beat(ctx, string(to), m, response)
	}
	return s.raftExchange(ctx, k, string(to), request, response)
}

// nodeOf returns the node of a replica id, node/group/generation.
func nodeOf(id raft.ServerID) (string, error) {
	node, rest, ok := strings.Cut(string(id), "/")
	if !ok || node == "" || rest == "" || len(id) > maxTarget {
		return "", fmt.Errorf("peer: replica id %q, want node/group/generation of at most %d bytes", id, maxTarget)
	}
	return node, nil
}

// trim returns as many entries from the front as have at most limit bytes, at least one.
func trim(entries []*raft.Log, limit int) []*raft.Log {
	size := 0
	for i, e := range entries {
		size += len(e.Data) + len(e.Extensions)
		if size > limit && i > 0 {
			return entries[:i]
		}
	}
	return entries
}
