package peer

import (
	"bufio"
	"context"
	"fmt"
	"sync"
	"time"
)

// RemoteError is what a node answered instead of a result: the text of its error.
type RemoteError struct {
	Node string
	Text string
}

func (e *RemoteError) Error() string { return fmt.Sprintf("node %q: %s", e.Node, e.Text) }

// session is a link's life between two handshakes. Requests go out on it, and
// answers come back in any order.
type session struct {
	link   *link
	stream *stream
	reader *bufio.Reader
	out    *outbox
	beats  heartbeats
	member bool

	mu      sync.Mutex
	lastID  uint64 // of requests; 0 stays free for pings
	waiting map[uint64]chan<- answer
	err     error // why it ended
}

// answer is a request's outcome. The payload belongs to the receiver.
type answer struct {
	payload []byte
	err     error
}

func newSession(l *link, s *stream, r *bufio.Reader, member bool) *session {
	return &session{
		link: l, stream: s, reader: r, member: member,
		out:     newOutbox(l.net.cfg.MaxPending, l.net.cfg.MaxFrame),
		beats:   heartbeats{kick: make(chan struct{}, 1)},
		waiting: make(map[uint64]chan<- answer),
	}
}

// run serves the connection until it ends and returns why. All requests under way
// have failed by then, and its goroutines are gone.
func (s *session) run() error {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.out.run(s.stream); err != nil {
			s.end(fmt.Errorf("writing to node %q: %w", s.link.node, err))
		}
	})
	wg.Go(func() { s.ping(done) })
	wg.Go(func() { s.sendBeats(done) })
	s.end(s.read())
	close(done)
	wg.Wait()
	return s.err
}

// end fails everything under way. The first reason stands.
func (s *session) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	err = s.err
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, ch := range waiting {
		ch <- answer{err: err}
	}
	s.out.close(err)
	s.link.net.drop(s.stream)
}

// ping keeps a quiet connection alive, and shows when it is not.
func (s *session) ping(done <-chan struct{}) {
	interval := s.link.net.cfg.PingInterval
	for {
		select {
		case <-done:
			return
		case <-time.After(min(s.link.net.cfg.untilRound(interval), interval*3/2)):
			if s.stream.quiet() >= interval/2 {
				s.out.post(kindPing, 0, nil)
			}
		}
	}
}

// read hands answers to those who wait for them, until the connection ends.
func (s *session) read() error {
	frames := frameReader{r: s.reader, limit: s.link.net.cfg.MaxFrame}
	for {
		f, err := frames.next()
		if err != nil {
			return fmt.Errorf("connection to node %q lost: %w", s.link.node, err)
		}
		if f.kind == kindBeatReplies {
			err = s.takeBeats(f)
		} else {
			err = s.deliver(f)
		}
		if err != nil {
			return err
		}
	}
}

// deliver hands an answer to the one who waits for it, if somebody still does.
func (s *session) deliver(f frame) error {
	a, err := s.answer(f)
	if err != nil {
		return err
	}
	if ch := s.take(f.id); ch != nil {
		ch <- a
	}
	return nil
}

func (s *session) answer(f frame) (answer, error) {
	switch f.kind {
	case kindReply:
		return answer{payload: f.payload}, nil
	case kindRefused:
		return answer{err: fmt.Errorf("%w: %w", ErrUnreachable, &RemoteError{Node: s.link.node, Text: string(f.payload)})}, nil
	case kindFailed:
		return answer{err: &RemoteError{Node: s.link.node, Text: string(f.payload)}}, nil
	}
	return answer{}, fmt.Errorf("connection to node %q: frame of kind %d is no answer", s.link.node, f.kind)
}

// exchange sends a request and waits for its answer until ctx ends. The error is
// ErrUnreachable if the request was certainly not handled.
func (s *session) exchange(ctx context.Context, k kind, target string, encode func([]byte) []byte) ([]byte, error) {
	id, answers, err := s.register()
	if err == nil {
		err = s.out.put(ctx, k, id, target, encode)
	}
	if err != nil {
		s.take(id)
		return nil, s.link.unreachable(err)
	}
	return s.await(ctx, id, answers)
}

// await returns the answer to a request that has been sent.
func (s *session) await(ctx context.Context, id uint64, answers <-chan answer) ([]byte, error) {
	select {
	case a := <-answers:
		return a.payload, a.err
	case <-ctx.Done():
		s.take(id)
		return nil, fmt.Errorf("no answer from node %q: %w", s.link.node, context.Cause(ctx))
	}
}

func (s *session) register() (uint64, <-chan answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, nil, s.err
	}
	answers := make(chan answer, 1) // the reader never waits for us
	s.lastID++
	s.waiting[s.lastID] = answers
	return s.lastID, answers, nil
}

// take returns where the answer to a request belongs, once; then nil.
func (s *session) take(id uint64) chan<- answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.waiting[id]
	delete(s.waiting, id)
	return ch
}

// raftExchange is exchange for a Raft message, which only members may send.
func (s *session) raftExchange(ctx context.Context, k kind, target string, request, response any) error {
	if !s.member {
		return s.link.unreachable(errNotMember)
	}
	b, err := s.exchange(ctx, k, target, func(b []byte) []byte { return appendRequest(b, request) })
	if err != nil {
		return err
	}
	return decodeResponse(b, response)
}
