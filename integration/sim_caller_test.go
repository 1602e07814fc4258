package integration

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard"
)

// simService is where callers find the nodes of a simulation, while those come and go.
type simService struct {
	ids     []string
	serving map[string]*atomic.Pointer[shard.Node]
	cluster placement.Map
	tally   *tally
	faults  faults
}

// ask sends one node a request.
func (s *simService) ask(id string, req op.Request) op.Result {
	node := s.serving[id].Load()
	if node == nil {
		return op.Fail(op.Unavailable("%s is down", id))
	}
	reply := make(replyChan, 1)
	req.Raw = op.AppendCommand(nil, req.Command())
	serveOrLookUp(node, req, reply)
	select {
	case res := <-reply:
		return res
	case <-time.After(simPatience):
		s.faults.report("%s has not answered %s within %v", id, describeOp(req.Op), simPatience)
		return op.Fail(op.UnknownOutcome("no answer"))
	}
}

// serveOrLookUp asks a node as the connection of a client does.
func serveOrLookUp(node *shard.Node, req op.Request, reply op.Replier) {
	l, ok := op.DecodeLookup(req.AppendTo(nil))
	if ok && node.LookUp([]op.Lookup{l}, func(_ int, res *op.Result) bool { reply.Reply(*res); return true }) == 1 {
		return
	}
	node.Serve(req, reply)
}

const (
	simSessionTTL  = 20_000 // ms: jumps of clocks end some
	simCallTimeout = 6 * time.Second
	simReadTries   = 4
	simPatience    = time.Minute // every request is answered long before
)

// simCaller is a client in a simulation. It is a bad one: it asks nodes that do not
// lead, loses answers, and sends commands twice, at once and long after.
type simCaller struct {
	service  *simService
	random   *rand.Rand
	leaders  map[uint64]string // by group: the node that was named last
	sessions map[uint64]*simSession
	seen     map[uint64]uint64 // by group: the newest index
}

// simSession is a session of which every write is answered before the next.
type simSession struct {
	id, sequence uint64
	last         op.Request // and its answer, to be asked for once more
	answer       op.Result
}

func (s *simService) caller(random *rand.Rand) *simCaller {
	return &simCaller{s, random, map[uint64]string{}, map[uint64]*simSession{}, map[uint64]uint64{}}
}

func (c *simCaller) do(o op.Op, level client.Level) (op.Result, outcome) {
	group := c.service.cluster.GroupOf(o.(op.Routed).Slot(0))
	var res op.Result
	var out outcome
	switch txn, ok := o.(op.Txn); {
	case op.SpecOf(o.Code()).Class == op.ClassRead:
		res, out = c.read(group, o, level)
	case ok && c.spans(txn):
		res, out = c.txn(txn)
	case c.random.IntN(3) == 0:
		res, out = c.writeOnce(group, op.Request{Op: o})
	default:
		res, out = c.writeInSession(group, o)
	}
	c.service.tally.operation(out)
	if out == done {
		c.seen[group] = max(c.seen[group], res.Index)
	}
	return res, out
}

func (c *simCaller) brief() bool { return false }

func (c *simCaller) token() any { return maps.Clone(c.seen) }

func (c *simCaller) adopt(token any) {
	for group, index := range token.(map[uint64]uint64) {
		c.seen[group] = max(c.seen[group], index)
	}
}

// node returns one to ask: mostly the one that is said to lead.
func (c *simCaller) node(group uint64) string {
	if leader := c.leaders[group]; leader != "" && c.random.IntN(3) > 0 {
		return leader
	}
	return c.service.ids[c.random.IntN(len(c.service.ids))]
}

// ask sends a request and notes who leads.
func (c *simCaller) ask(group uint64, req op.Request) op.Result {
	id := c.node(group)
	res := c.service.ask(id, req)
	switch {
	case res.Err == nil && op.SpecOf(req.Op.Code()).Class == op.ClassWrite:
		c.leaders[group] = id
	case res.Err != nil:
		c.leaders[group] = res.Err.Node
	}
	return res
}

func (c *simCaller) read(group uint64, o op.Op, level client.Level) (op.Result, outcome) {
	req := op.Request{Op: o}
	switch level {
	case client.Local:
	case client.Session:
		req.Level, req.Bound = op.Session, c.seen[group]
	case client.Linearizable:
		req.Level = op.Linearizable
	default:
		req.Level, req.Bound = op.Bounded, uint64(level) // ms
	}
	for range simReadTries {
		if res := c.ask(group, req); res.Err == nil {
			return res, done
		}
		c.pause()
	}
	return op.Result{}, refused
}

// writeOnce is a write that is never repeated once it may have happened.
func (c *simCaller) writeOnce(group uint64, req op.Request) (op.Result, outcome) {
	for range simReadTries {
		res := c.ask(group, req)
		switch {
		case res.Err == nil:
			return res, done
		case errors.Is(res.Err, op.ErrUnknownOutcome):
			return res, unknown
		case !errors.Is(res.Err, op.ErrUnavailable):
			return res, refused
		}
		c.pause()
	}
	return op.Result{}, refused
}

// writeInSession repeats a write, with the same numbers, until its answer is there.
func (c *simCaller) writeInSession(group uint64, o op.Op) (op.Result, outcome) {
	s := c.session(group, o)
	if s == nil {
		return op.Result{}, refused
	}
	s.sequence++
	req := op.Request{Session: s.id, Sequence: s.sequence, Acknowledged: s.sequence, Op: o}
	if c.random.IntN(3) == 0 && s.last.Op != nil {
		req.Acknowledged-- // the one before can be asked for again
	}
	c.repeatLast(group, s)
	res, out := c.repeat(group, req)
	if out == done {
		s.last, s.answer = req, res
	} else {
		delete(c.sessions, group)
	}
	return res, out
}

// repeat sends a request until it is answered. Answers get lost, and it is sent by two
// ways at once.
func (c *simCaller) repeat(group uint64, req op.Request) (op.Result, outcome) {
	doubt := false
	for end := time.Now().Add(simCallTimeout); ; c.pause() {
		res := c.askTwice(group, req)
		lost := res.Err == nil && c.random.IntN(10) == 0
		switch {
		case lost:
			c.service.tally.fault("lost reply")
			doubt = true
		case res.Err == nil:
			return res, done
		case errors.Is(res.Err, op.ErrUnknownOutcome):
			doubt = true
		case errors.Is(res.Err, op.ErrUnavailable):
		case errors.Is(res.Err, op.ErrSessionEnded) && doubt:
			return res, unknown
		default:
			return res, refused
		}
		if time.Now().After(end) {
			if doubt {
				return res, unknown
			}
			return res, refused
		}
	}
}

// spans reports whether a transaction's keys belong to several groups.
func (c *simCaller) spans(o op.Txn) bool {
	for i := range o.NumSlots() {
		if c.service.cluster.GroupOf(o.Slot(i)) != c.service.cluster.GroupOf(o.Slot(0)) {
			return true
		}
	}
	return false
}

// txn does a transaction over several groups. When its answer is lost, its id tells
// what became of it, but not the results.
func (c *simCaller) txn(o op.Txn) (op.Result, outcome) {
	o.ID = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.random.Uint64()), c.random.Uint64())
	group := c.service.cluster.GroupOf(o.Home())
	res := c.service.ask(c.node(group), op.Request{Op: o})
	switch {
	case res.Err == nil && c.random.IntN(10) == 0:
		c.service.tally.fault("lost reply")
	case res.Err == nil:
		return res, done
	case !errors.Is(res.Err, op.ErrUnknownOutcome):
		c.pause()
		return res, refused
	}
	for end := time.Now().Add(simCallTimeout); time.Now().Before(end); c.pause() {
		became, out := c.read(group, op.GetTxn{ID: o.ID, Home: o.Home()}, client.Linearizable)
		switch {
		case out == done && became.Number == int64(op.Committed):
			return op.Result{}, done
		case out == done && became.Number == int64(op.Aborted):
			return op.Result{}, refused
		}
	}
	return op.Result{}, unknown
}

// askTwice sometimes sends a request by two ways at once. Two answers must be the same.
func (c *simCaller) askTwice(group uint64, req op.Request) op.Result {
	if c.random.IntN(8) > 0 {
		return c.ask(group, req)
	}
	c.service.tally.fault("duplicate")
	other := make(chan op.Result, 1)
	by := c.node(group)
	go func() { other <- c.service.ask(by, req) }()
	res, twin := c.ask(group, req), <-other
	if res.Err == nil && twin.Err == nil {
		c.compare(req, res, twin)
	}
	switch {
	case res.Err == nil || twin.Err != nil && errors.Is(res.Err, op.ErrUnknownOutcome):
		return res
	case twin.Err == nil || errors.Is(twin.Err, op.ErrUnknownOutcome):
		return twin
	}
	return res
}

// repeatLast sometimes asks once more for the answer before this write.
func (c *simCaller) repeatLast(group uint64, s *simSession) {
	if s.last.Op == nil || c.random.IntN(10) > 0 {
		return
	}
	c.service.tally.fault("late repeat")
	if res := c.ask(group, s.last); res.Err == nil {
		c.compare(s.last, s.answer, res)
	}
}

// compare reports two answers to one command that differ in more than the index that
// they show.
func (c *simCaller) compare(req op.Request, a, b op.Result) {
	a.Index, b.Index = 0, 0
	if !bytes.Equal(a.AppendTo(nil), b.AppendTo(nil)) {
		c.service.faults.report("write %d of session %d, %s, was answered with %s and with %s",
			req.Sequence, req.Session, describeOp(req.Op), describeResult(a), describeResult(b))
	}
}

// session returns the session with a group, or nil if none can be opened now.
func (c *simCaller) session(group uint64, o op.Op) *simSession {
	if s := c.sessions[group]; s != nil {
		return s
	}
	res, out := c.writeOnce(group, op.Request{Op: op.OpenSession{OnSlot: o.(op.Routed).Slot(0), TTL: simSessionTTL}})
	if out != done {
		return nil
	}
	c.sessions[group] = &simSession{id: uint64(res.Number)}
	return c.sessions[group]
}

func (c *simCaller) pause() { time.Sleep(time.Duration(c.random.IntN(100)) * time.Millisecond) }
