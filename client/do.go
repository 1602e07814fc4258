package client

import (
	"context"
	"errors"

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
func (c *Client) do(ctx context.Context, o op.Op, level op.Level) (op.Result, error) {
	if err := o.Check(localLimits); err != nil {
		return op.Result{}, err
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.RequestTimeout)
		defer cancel()
	}
	a := attempts{
		client:     c,
		req:        op.Request{Op: o, Level: level},
		repeatable: repeatable(o),
	}
	a.walk.byLeader = !a.repeatable || isRead(o) && level != op.Local // what is left, any node answers
	return a.run(ctx)
}

func isRead(o op.Op) bool { return op.SpecOf(o.Code()).Class == op.ClassRead }

// repeatable reports whether doing o twice is the same as doing it once.
func repeatable(o op.Op) bool {
	switch o.Code() {
	case op.CodeHello, op.CodeMap, op.CodeStatus:
		return true
	}
	return isRead(o)
}

// attempts is the state of one call.
type attempts struct {
	client     *Client
	req        op.Request
	repeatable bool
	walk       walk

	// Where the present attempt goes, by which map.
	table *table
	group *group
	node  *pool

	made   int
	pauses int
	reason error // why the last attempt failed
}

func (a *attempts) run(ctx context.Context) (op.Result, error) {
	for {
		var ok bool
		a.table = a.client.table.Load()
		if a.group, ok = a.table.groupOf(a.req.Op); !ok {
			return op.Result{}, errSplit
		}
		v := later
		if a.node = a.walk.next(a.group); a.node != nil {
			res, broken := a.send(ctx)
			if v = judge(res.Err, broken, a.repeatable); v == settled {
				return a.settle(res, broken)
			}
			a.learn(ctx, res.Err, broken)
			if !a.walk.byLeader {
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

// send makes one attempt. broken is why there is no answer.
func (a *attempts) send(ctx context.Context) (res op.Result, broken error) {
	a.made++
	a.req.Epoch = a.table.cluster.Epoch
	link, err := a.node.take(ctx)
	if err != nil {
		return op.Result{}, err
	}
	return link.do(ctx, &a.req)
}

// settle returns the call's outcome.
func (a *attempts) settle(res op.Result, broken error) (op.Result, error) {
	switch {
	case broken != nil:
		a.doubt(broken)
		return op.Result{}, broken
	case res.Err != nil:
		return op.Result{}, res.Err
	case a.walk.byLeader:
		a.group.led(a.node)
	}
	return res, nil
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
	if ctx.Err() == nil || a.reason == nil {
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
	if a.walk.byLeader {
		a.walk.named = a.table.nodes[answer.Node]
	}
}

// pause waits before the next attempt.
func (a *attempts) pause(ctx context.Context) {
	a.client.sleep(ctx, a.client.backoff.after(a.pauses))
	a.pauses++
	a.walk.rest()
}

// ended returns the error of a call that had no effect until ctx or the client ended.
func (a *attempts) ended(ctx context.Context) error {
	switch {
	case a.client.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return gaveUp(ctx, a.made, a.reason)
	}
	return nil
}
