package client

import (
	"context"
	"errors"
	"time"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/internal/session"
	"github.com/ringraft/ringraft/op"
)

// errSplit is how a call on several slots ends when a new cluster map has put them
// into different groups. It never leaves the package: the call is split anew.
var errSplit = errors.New("the keys are no longer in one group")

// localLimits are the bounds that the client knows without asking. The cluster's
// own limit on values may be lower, and is the cluster's to enforce.
var localLimits = op.Limits{MaxValue: op.MaxValueLimit}

// do sends o to the nodes that may serve it, one after another, until the outcome
// is settled or ctx ends. level is that of a read.
func (c *Client) do(ctx context.Context, o op.Op, level Level) (op.Result, error) {
	if err := o.Check(localLimits); err != nil {
		return op.Result{}, err
	}
	if err := level.check(); err != nil {
		return op.Result{}, err
	}
	a := c.attempts(o, level)
	defer a.free()
	return a.run(ctx)
}

func isRead(o op.Op) bool  { return op.SpecOf(o.Code()).Class == op.ClassRead }
func isWrite(o op.Op) bool { return op.SpecOf(o.Code()).Class == op.ClassWrite }

// repeatable reports whether sending o twice is the same as sending it once. To open
// two sessions is: the one that nobody uses ends.
func repeatable(o op.Op) bool {
	switch o.Code() {
	case op.CodeHello, op.CodeMap, op.CodeStatus, op.CodeOpenSession, op.CodeCloseSession, op.CodeAbortTxn:
		return true
	}
	return isRead(o) || op.Numbered(o)
}

// attempts is the state of one call.
type attempts struct {
	client     *Client
	req        op.Request
	level      Level
	repeatable bool
	numbered   bool
	walk       walk

	// Where the present attempt goes, by which map.
	table *table
	group *group
	node  *pool

	// A numbered write's place in a session with the group of account; nil: it has none.
	account *account
	seat    session.Seat
	// doubtful: an attempt may have been applied, and no answer has told.
	doubtful bool

	now    time.Time // as of the last wait
	end    time.Time // when the call is given up
	made   int
	sent   time.Time // the last attempt
	silent int       // attempts that ended for want of an answer
	pauses int
	reason error // why the last attempt failed
}

// attempts returns the state of a call of o, which is to begin. Its last user may free it.
func (c *Client) attempts(o op.Op, level Level) *attempts {
	a, ok := c.spare.Get().(*attempts)
	if !ok {
		a = new(attempts)
	}
	a.client, a.level, a.now = c, level, time.Now()
	a.req.Op, a.req.Level = o, level.wire()
	a.repeatable, a.numbered = repeatable(o), op.Numbered(o)
	a.walk.byLeader = !a.repeatable || isWrite(o) || isRead(o) && level == Linearizable // what is left, any node answers
	return a
}

// free keeps the state, which nobody uses any more, for another call.
func (a *attempts) free() {
	c := a.client
	*a = attempts{}
	c.spare.Put(a)
}

func (a *attempts) run(ctx context.Context) (op.Result, error) {
	defer a.leave()
	a.end = a.client.end(ctx, a.now)
	for {
		if err := a.prepare(ctx); err != nil {
			return op.Result{}, a.outcome(err)
		}
		v := later
		if a.node = a.walk.next(a.group); a.node != nil {
			res, broken := a.send(ctx)
			if v = a.judge(&res, broken); v == settled {
				if err := a.settle(&res, broken); err != nil {
					return op.Result{}, err
				}
				return res, nil
			}
			a.learn(ctx, res.Err, broken)
			switch {
			case v == anew:
				if err := a.resit(res.Err); err != nil {
					return op.Result{}, err
				}
			case !a.walk.byLeader:
				v = elsewhere // the other replicas need not be as busy
			}
		}
		if v == later {
			a.pause(ctx)
		}
		if err := a.ended(ctx); err != nil {
			return op.Result{}, err
		}
	}
}

// prepare finds the group to ask by the newest map and, for a numbered write, a seat
// in a session with it.
func (a *attempts) prepare(ctx context.Context) error {
	for {
		var ok bool
		a.table = a.client.table.Load()
		if a.group, ok = a.table.groupOf(a.req.Op); !ok {
			return errSplit
		}
		if !a.numbered || a.account == a.group.account {
			return nil
		}
		if a.doubtful {
			return op.Unavailable("the keys have moved to group %d, which cannot tell", a.group.id)
		}
		a.leave()
		if err := a.sit(ctx); err != nil {
			return err
		}
	}
}

// send makes one attempt. broken is why there is no answer.
func (a *attempts) send(ctx context.Context) (res op.Result, broken error) {
	if a.made++; a.made > 1 && spans(a.req.Op) {
		a.req.Op = freshTxn(a.req.Op.(op.Txn)) // the last attempt has used its id up
	}
	a.req.Epoch = a.table.cluster.Epoch
	a.req.Bound = a.level.bound(a.group.account.seen.Load())
	if mutant.NewSequence && a.seat.Session != nil && a.made > 1 {
		other, _ := a.seat.Session.Sit()
		a.req.Sequence = other.Sequence
	}
	a.sent = a.now
	until, early := a.until()
	conn, broken := a.node.takeUntil(ctx, until)
	if broken == nil {
		res, broken = conn.DoUntil(ctx, until, &a.req)
	}
	if early && errors.Is(broken, context.DeadlineExceeded) && a.over(ctx) == nil {
		broken = a.noAnswer(broken)
	}
	a.doubtful = a.doubtful || a.numbered && unsettled(res.Err, broken)
	return res, broken
}

// judge gives the verdict on an attempt. Where an earlier one may yet be done, a refusal
// of this one alone settles nothing.
func (a *attempts) judge(res *op.Result, broken error) verdict {
	v := judge(res.Err, broken, a.repeatable)
	if v == settled && a.doubtful && res.OfThisTry() {
		return later
	}
	return v
}

// unsettled reports whether an attempt that ended so may have had an effect.
func unsettled(answer *op.Error, broken error) bool {
	return errors.Is(broken, op.ErrUnknownOutcome) || answer != nil && answer.Kind == op.KindUnknown
}

// until returns when the attempt is given up. It is early, before the call's own end, if
// the call can be repeated and will then have time left for another attempt.
func (a *attempts) until() (until time.Time, early bool) {
	limit := a.sent.Add(a.client.cfg.AttemptTimeout << min(max(a.silent-1, 0), 16))
	if a.repeatable && limit.Before(a.end) {
		return limit, true
	}
	return a.end, false
}

// noAnswer is broken without the deadline that was the attempt's only.
func (a *attempts) noAnswer(broken error) error {
	a.silent++
	a.walk.avoid(a.node, a.client.cfg.AttemptTimeout)
	if errors.Is(broken, op.ErrUnknownOutcome) {
		return op.UnknownOutcome("node %s does not answer", a.node.node)
	}
	return op.Unavailable("node %s does not answer", a.node.node)
}

// settle ends the call with res, or with the error that it returns.
func (a *attempts) settle(res *op.Result, broken error) error {
	if a.group != a.table.meta {
		a.group.account.see(res.Index)
	}
	switch {
	case broken != nil:
		a.doubt(broken)
		return broken
	case res.Err != nil:
		a.doubtful = false
		return res.Err
	case a.walk.byLeader:
		a.group.led(a.node)
	}
	a.doubtful = false
	return nil
}

// learn draws the lessons from an attempt without effect: who does not lead, whom
// to ask next, and whether the map is old.
func (a *attempts) learn(ctx context.Context, answer *op.Error, broken error) {
	reason := broken
	switch {
	case answer == nil:
		a.doubt(broken)
	case answer.Kind == op.KindWrongNode:
		reason = answer
		a.doubt(answer)
		a.sentOn(answer)
	default:
		reason = answer // a busy leader is still the leader
	}
	if a.over(ctx) == nil || a.reason == nil {
		a.reason = withoutEffect(reason)
	}
}

// doubt makes later calls ask another node first. A call that its caller cancelled
// says nothing about the node.
func (a *attempts) doubt(reason error) {
	if a.walk.byLeader && !errors.Is(reason, context.Canceled) {
		a.group.doubt(a.node)
	}
}

// sentOn follows an answer that another node serves this.
func (a *attempts) sentOn(answer *op.Error) {
	if answer.Epoch > a.table.cluster.Epoch {
		a.client.refreshSoon()
	}
	if a.level != Local || a.walk.byLeader {
		a.walk.named = a.table.nodes[answer.Node]
	}
}

// pause waits before the next attempt.
func (a *attempts) pause(ctx context.Context) {
	a.client.sleep(ctx, min(a.client.backoff.after(a.pauses), time.Until(a.end)))
	a.pauses++
	a.walk.rest()
}

// ended returns the error of a call that is not settled when its time is over or the
// client ends.
func (a *attempts) ended(ctx context.Context) error {
	if a.client.ctx.Err() != nil {
		return a.outcome(ErrClosed)
	}
	if err := a.over(ctx); err != nil {
		return a.outcome(gaveUp(err, a.made, a.reason))
	}
	return nil
}

// over looks at the clock and returns why the call's time is over, nil while it is not.
func (a *attempts) over(ctx context.Context) error {
	a.now = time.Now()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !a.now.Before(a.end) {
		return context.DeadlineExceeded
	}
	return nil
}
