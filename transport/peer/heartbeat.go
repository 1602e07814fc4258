package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Heartbeats of all groups to one node leave together, and their answers come back
// together: with many groups they are most of what an idle node does. Each is still
// handed to its own replica's raft, and answered by that alone.
//
// A frame of heartbeats holds, for each: id, target and request; a frame of answers: id,
// kind of the answer and its payload. Ids are varints, the rest has its length in front.

const (
	// answerPatience is how long the answers of a frame wait for the slowest one. Those
	// that are late come in frames of their own, each with twice the patience.
	answerPatience = 10 * time.Millisecond
	// answerGrowth bounds how much longer answers are than heartbeats: they may all be
	// texts of errors.
	answerGrowth = 32
	// maxBeatFrames bounds the frames of a connection of which heartbeats are unanswered.
	maxBeatFrames = 64
)

var errTooManyBeats = errors.New("too many heartbeats are unanswered")

// isHeartbeat reports whether a request tells the follower nothing but that there is a
// leader. What raft sends to bring a follower up to date is never held.
func isHeartbeat(m *raft.AppendEntriesRequest) bool {
	return len(m.Entries) == 0 && m.PrevLogEntry == 0 && m.PrevLogTerm == 0 && m.LeaderCommitIndex == 0
}

// heartbeats are those that wait for a session's next frame of them.
type heartbeats struct {
	kick chan struct{} // capacity 1: some wait

	mu      sync.Mutex
	waiting []byte
}

// add queues a heartbeat, unless those that wait would then have more than limit bytes.
func (h *heartbeats) add(id uint64, target string, request *raft.AppendEntriesRequest, limit int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.waiting)
	h.waiting = binary.AppendUvarint(h.waiting, id)
	h.waiting = appendBytes(appendBytes(h.waiting, target), appendRequest(nil, request))
	if len(h.waiting) > limit {
		h.waiting = h.waiting[:before]
		return false
	}
	select {
	case h.kick <- struct{}{}:
	default:
	}
	return true
}

func (h *heartbeats) take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.waiting
	h.waiting = make([]byte, 0, len(b))
	return b
}

// beat sends a heartbeat with the next frame of them, or by itself if that is full, and
// waits for its answer.
func (s *session) beat(ctx context.Context, target string, request *raft.AppendEntriesRequest, response any) error {
	if !s.member {
		return s.link.unreachable(errNotMember)
	}
	id, answers, err := s.register()
	if err != nil {
		return s.link.unreachable(err)
	}
	if !s.beats.add(id, target, request, s.link.net.cfg.MaxFrame/answerGrowth) {
		s.take(id)
		return s.raftExchange(ctx, kindAppend, target, request, response)
	}
	b, err := s.await(ctx, id, answers)
	if err != nil {
		return err
	}
	return decodeResponse(b, response)
}

// sendBeats sends what waits, a frame in HeartbeatWait at most, until done is closed. All
// connections do so at one moment, those of other nodes too where clocks agree: an idle
// process pays for wake-ups.
func (s *session) sendBeats(done <-chan struct{}) {
	for {
		select {
		case <-s.beats.kick:
		case <-done:
			return
		}
		select {
		case <-time.After(s.link.net.cfg.untilRound(0)):
		case <-done:
			return
		}
		if b := s.beats.take(); len(b) > 0 {
			s.out.post(kindBeats, 0, func(frame []byte) []byte { return append(frame, b...) })
		}
	}
}

// untilRound returns how long it takes, but no less than atLeast, until the time of day is
// a multiple of HeartbeatWait.
func (c Config) untilRound(atLeast time.Duration) time.Duration {
	then := time.Duration(time.Now().Add(atLeast).UnixNano())
	return atLeast + c.HeartbeatWait - then%c.HeartbeatWait
}

// takeBeats hands the answers of a frame to those who wait for them.
func (s *session) takeBeats(f frame) error {
	r := reader{b: f.payload}
	for len(r.b) > 0 {
		answered := frame{id: r.uint(), kind: kind(r.byte()), payload: r.bytes()}
		if r.err != nil {
			return r.err
		}
		if err := s.deliver(answered); err != nil {
			return err
		}
	}
	return nil
}

// openBeat is a heartbeat that raft has yet to answer.
type openBeat struct {
	id        uint64
	replica   *replica
	responses <-chan raft.RPCResponse
}

// beats hands a frame's heartbeats to their replicas. An error means that the frame is
// malformed.
func (c *inbound) beats(f frame) error {
	select {
	case c.beating <- struct{}{}:
	default:
		return errTooManyBeats
	}
	r := reader{b: f.payload}
	var open []openBeat
	var refused []byte
	for len(r.b) > 0 {
		id, target, request := r.uint(), r.bytes(), r.bytes()
		if r.err != nil {
			break
		}
		b, err := c.offerBeat(id, target, request)
		if err != nil {
			refused = appendAnswer(refused, id, kindRefused, appendText(err.Error()))
			continue
		}
		open = append(open, b)
	}
	c.postBeats(refused)
	c.wg.Go(func() {
		defer func() { <-c.beating }()
		c.answerBeats(open)
	})
	return r.err
}

func (c *inbound) offerBeat(id uint64, target, encoded []byte) (openBeat, error) {
	r, request, err := c.open(kindAppend, target, encoded)
	if err != nil {
		return openBeat{}, err
	}
	responses, err := r.prompt(request)
	return openBeat{id, r, responses}, err
}

// answerBeats sends raft's answers home, until all are there or their askers have given up.
func (c *inbound) answerBeats(open []openBeat) {
	ctx, cancel := context.WithTimeout(c.ctx, c.net.cfg.AppendTimeout)
	defer cancel()
	for patience := answerPatience; len(open) > 0 && ctx.Err() == nil; patience *= 2 {
		open = c.answerSome(ctx, open, patience)
	}
}

// answerSome sends the answers that come within patience, and returns what is left open.
func (c *inbound) answerSome(ctx context.Context, open []openBeat, patience time.Duration) (late []openBeat) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var answers []byte
	for _, b := range open {
		response, ok := b.answer(ctx)
		switch {
		case !ok:
			late = append(late, b)
		case response.Error != nil:
			answers = appendAnswer(answers, b.id, kindFailed, appendText(response.Error.Error()))
		default:
			answers = appendAnswer(answers, b.id, kindReply, func(a []byte) []byte { return appendResponse(a, response.Response) })
		}
	}
	c.postBeats(answers)
	return late
}

// answer returns raft's answer, and false if there is none by the time that ctx ends.
func (b openBeat) answer(ctx context.Context) (raft.RPCResponse, bool) {
	select {
	case response := <-b.responses:
		return response, true
	default:
	}
	select {
	case response := <-b.responses:
		return response, true
	case <-b.replica.ctx.Done():
		return raft.RPCResponse{Error: ErrClosed}, true
	case <-ctx.Done():
		return raft.RPCResponse{}, false
	}
}

func appendAnswer(b []byte, id uint64, k kind, encode func([]byte) []byte) []byte {
	b = append(binary.AppendUvarint(b, id), byte(k))
	return appendBytes(b, encode(nil))
}

func (c *inbound) postBeats(answers []byte) {
	if len(answers) > 0 {
		c.out.post(kindBeatReplies, 0, func(b []byte) []byte { return append(b, answers...) })
	}
}
