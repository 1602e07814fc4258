package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringraft/ringraft/op"
)

// Txn is a transaction: if all compares of If hold, the operations of Then are done,
// else those of Else; all of them or none.
//
// Keys with the same {tag} belong to one group, and are compared and changed in one
// entry of its log. Where keys belong to several groups, Else must be empty, and it takes
// three steps and two entries per group; the transaction keeps others out of its keys
// meanwhile, and fails with ErrUnavailable if they do so until ctx ends. A list has at most op.MaxTxnOps elements, all keys and values
// together op.MaxPayload bytes; a key is compared once, and written once in a list.
type Txn struct {
	If   []Compare
	Then []Op
	Else []Op
}

// Compare is a condition of a transaction on one key. Make it with [When].
type Compare struct {
	cond op.Compare
	err  *op.Error
}

// When compares key as one of the If options says. With ShowValue, the transaction's
// result tells the key's value if it has no Else to run.
func When(key string, condition ...WriteOption) Compare {
	o, err := newWriteOptions(showValue|conditions, condition)
	return Compare{op.Compare{Key: []byte(key), Cond: o.cond}, err}
}

// TxnResult is what a transaction came to.
type TxnResult struct {
	Met      bool     // all compares held: Then was done, else Else
	Results  []Answer // of the operations done, in their order; nil if they were lost on the way, over several groups
	Standing []Result // not Met, and no Else: what stands at the keys compared, in their order; over several groups, in one where a compare did not hold
}

// Answer is what one operation came to.
type Answer struct {
	Found  bool  // the key was there: at a read, or before a write
	Value  Value // of a read all, of a write the Version
	Number int64 // of an Add the sum, of a Stat the value's size
}

// Txn does t in one step, which no other write comes into. That its compares do not
// hold is no error. One of its operations whose own condition does not hold, or that
// fails otherwise, makes it fail as a whole, and nothing changes.
func (c *Client) Txn(ctx context.Context, t Txn) (TxnResult, error) {
	o, err := t.op()
	if err != nil {
		return TxnResult{}, err
	}
	res, err := c.doTxn(ctx, o)
	if err != nil {
		return TxnResult{}, err
	}
	return newTxnResult(res), nil
}

// doTxn does a transaction in one entry, if its keys belong to one group.
func (c *Client) doTxn(ctx context.Context, o op.Txn) (op.Result, error) {
	res, err := c.do(ctx, o, Local)
	if errors.Is(err, errSplit) {
		return c.doSpanning(ctx, o)
	}
	return res, err
}

func (t Txn) op() (op.Txn, error) {
	var o op.Txn
	for i, c := range t.If {
		if c.err != nil {
			return o, within(fmt.Sprintf("if[%d]", i), c.err)
		}
		o.Compares = append(o.Compares, c.cond)
	}
	var err error
	if o.Then, err = operations("then", t.Then); err != nil {
		return o, err
	}
	o.Else, err = operations("else", t.Else)
	return o, err
}

func operations(list string, ops []Op) ([]op.Op, error) {
	var all []op.Op
	for i, o := range ops {
		field := fmt.Sprintf("%s[%d]", list, i)
		switch {
		case o.err != nil:
			return nil, within(field, o.err)
		case o.op == nil:
			return nil, op.Invalid(field, "is empty; use SetOp and its like")
		}
		if err := o.op.Check(localLimits); err != nil {
			return nil, within(field, err)
		}
		all = append(all, o.op)
	}
	return all, nil
}

// within says in which part of a transaction an error is.
func within(part string, err *op.Error) *op.Error {
	inner := *err
	inner.Field = part + "." + err.Field
	return &inner
}

func newTxnResult(res op.Result) TxnResult {
	t := TxnResult{Met: !res.Unmet}
	for _, r := range res.Results {
		t.Results = append(t.Results, newAnswer(r))
	}
	for _, it := range res.Items {
		t.Standing = append(t.Standing, newResult(it))
	}
	return t
}

func newAnswer(res op.Result) Answer {
	return Answer{
		Found:  res.Found,
		Value:  Value{Bytes: res.Value, Version: res.Version, TTL: duration(res.TTL)},
		Number: res.Number,
	}
}

func newResult(it op.Item) Result {
	return Result{
		Key: string(it.Key), Existed: it.Found,
		Value: Value{Bytes: it.Value, Version: it.Version, TTL: duration(it.TTL)},
	}
}
