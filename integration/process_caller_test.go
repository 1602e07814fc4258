package integration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// liveCallTimeout is short, so that outcomes become unknown.
const liveCallTimeout = 3 * time.Second

// liveCaller asks processes through the real client, by the calls that its users have.
// Of a write whose outcome is unknown it asks for the outcome once more, later.
type liveCaller struct {
	ctx    context.Context
	client *client.Client
	tally  *tally
}

// brief: Set tells no more than the version, Delete whether the key was there, Add the sum.
func (c *liveCaller) brief() bool { return true }
func (c *liveCaller) token() any  { return c.client.SessionToken() }
func (c *liveCaller) adopt(token any) {
	if err := c.client.AdoptToken(token.(string)); err != nil {
		panic(err) // it is of this cluster
	}
}

func (c *liveCaller) do(o op.Op, level client.Level) (op.Result, outcome) {
	ctx, cancel := context.WithTimeout(c.ctx, liveCallTimeout)
	defer cancel()
	res, err := c.call(ctx, o, level)
	var doubt *client.UnknownOutcomeError
	if errors.As(err, &doubt) && len(doubt.Ticket.Operation) > 0 {
		c.tally.fault("ticket resolved")
		res, err = c.resolve(o, doubt.Ticket)
	}
	out := outcomeOf(&res, err)
	c.tally.operation(out)
	return res, out
}

// outcomeOf says what an error means, and puts into res what an unmet condition tells.
func outcomeOf(res *op.Result, err error) outcome {
	var unmet *client.ConditionError
	switch {
	case err == nil, errors.Is(err, client.ErrNotFound):
		return done
	case errors.As(err, &unmet):
		*res = op.Result{
			Unmet: true, Found: unmet.Found, Version: unmet.Version, Value: unmet.Value, Number: unmet.Number,
			TTL: unmet.TTL.Milliseconds(),
		}
		return done
	case errors.Is(err, client.ErrUnknownOutcome):
		return unknown
	}
	return refused
}

func (c *liveCaller) resolve(o op.Op, t client.Ticket) (op.Result, error) {
	ctx, cancel := context.WithTimeout(c.ctx, liveCallTimeout)
	defer cancel()
	r, err := c.client.Resolve(ctx, t)
	switch o.(type) {
	case op.Txn:
		return txnResult(r.Txn), err
	case op.MSet, op.MDelete:
		return op.Result{Items: itemsOf(r.Keys)}, err
	}
	return resultOf(r.Answer), err
}

// call carries out o by the client's method for it.
func (c *liveCaller) call(ctx context.Context, o op.Op, level client.Level) (res op.Result, err error) {
	switch o := o.(type) {
	case op.Get:
		v, err := c.client.Get(ctx, string(o.Key), client.At(level))
		return op.Result{Found: err == nil, Value: v.Bytes, Version: v.Version, TTL: v.TTL.Milliseconds()}, err
	case op.MGet:
		many, err := c.client.GetMany(ctx, texts(o.Keys), client.At(level))
		return op.Result{Items: itemsOf(many)}, err
	case op.MSet:
		var pairs []client.Pair
		for _, p := range o.Pairs {
			pairs = append(pairs, client.Pair{Key: string(p.Key), Value: p.Value})
		}
		many, err := c.client.SetMany(ctx, pairs)
		return op.Result{Items: itemsOf(many)}, err
	case op.MDelete:
		many, err := c.client.DeleteMany(ctx, texts(o.Keys))
		return op.Result{Items: itemsOf(many)}, err
	case op.Set:
		res.Version, err = c.client.Set(ctx, string(o.Key), o.Value, setOptions(o)...)
	case op.Delete:
		res.Found, err = c.client.Delete(ctx, string(o.Key), condition(o.Cond)...)
	case op.Add:
		res.Number, err = c.client.Add(ctx, string(o.Key), o.Delta, addOptions(o)...)
	case op.Expire:
		err = c.client.Expire(ctx, string(o.Key), time.Duration(o.TTL)*time.Millisecond)
	case op.Txn:
		t, err := c.client.Txn(ctx, transaction(o))
		return txnResult(t), err
	default:
		panic(fmt.Sprintf("no call for %s", o.Code()))
	}
	return res, err
}

func texts(keys [][]byte) (list []string) {
	for _, key := range keys {
		list = append(list, string(key))
	}
	return list
}

func condition(c op.Cond) (opts []client.WriteOption) {
	switch c.Kind {
	case op.CondAbsent:
		opts = append(opts, client.IfAbsent())
	case op.CondPresent:
		opts = append(opts, client.IfPresent())
	case op.CondVersion:
		opts = append(opts, client.IfVersion(c.Version))
	case op.CondValue:
		opts = append(opts, client.IfValue(c.Value))
	}
	if c.Show {
		opts = append(opts, client.ShowValue())
	}
	return opts
}

func setOptions(o op.Set) []client.WriteOption {
	opts := condition(o.Cond)
	if o.TTL > 0 {
		opts = append(opts, client.WithTTL(time.Duration(o.TTL)*time.Millisecond))
	}
	return opts
}

func addOptions(o op.Add) []client.WriteOption {
	opts := condition(o.Cond)
	if o.Min != nil {
		opts = append(opts, client.AtLeast(*o.Min))
	}
	if o.Max != nil {
		opts = append(opts, client.AtMost(*o.Max))
	}
	if o.Clamp {
		opts = append(opts, client.Clamped())
	}
	return opts
}

func transaction(o op.Txn) (t client.Txn) {
	for _, c := range o.Compares {
		t.If = append(t.If, client.When(string(c.Key), condition(c.Cond)...))
	}
	t.Then, t.Else = operations(o.Then), operations(o.Else)
	return t
}

func operations(ops []op.Op) (list []client.Op) {
	for _, o := range ops {
		switch o := o.(type) {
		case op.Get:
			list = append(list, client.GetOp(string(o.Key)))
		case op.Set:
			list = append(list, client.SetOp(string(o.Key), o.Value, setOptions(o)...))
		case op.Delete:
			list = append(list, client.DeleteOp(string(o.Key), condition(o.Cond)...))
		case op.Add:
			list = append(list, client.AddOp(string(o.Key), o.Delta, addOptions(o)...))
		default:
			panic(fmt.Sprintf("no operation for %s", o.Code()))
		}
	}
	return list
}

func txnResult(t client.TxnResult) op.Result {
	res := op.Result{Unmet: !t.Met, Items: itemsOf(t.Standing)}
	for _, a := range t.Results {
		res.Results = append(res.Results, resultOf(a))
	}
	return res
}

func resultOf(a client.Answer) op.Result {
	return op.Result{
		Found: a.Found, Version: a.Value.Version, Value: a.Value.Bytes, TTL: a.Value.TTL.Milliseconds(), Number: a.Number,
	}
}

func itemsOf(many []client.Result) (items []op.Item) {
	for _, r := range many {
		items = append(items, op.Item{Key: []byte(r.Key), Found: r.Existed, Version: r.Value.Version, Value: r.Value.Bytes})
	}
	return items
}
