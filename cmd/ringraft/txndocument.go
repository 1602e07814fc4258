package main

import (
	"fmt"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/internal/strictjson"
	"github.com/ringraft/ringraft/op"
)

// parseTxn returns the transaction in text; see the help of txn. Its errors name the part
// at fault.
func parseTxn(text []byte) (op.Txn, error) {
	var doc document.Transaction
	if err := strictjson.Decode(text, &doc); err != nil {
		return op.Txn{}, fmt.Errorf("no JSON object of the fields if, then and else: %w", err)
	}
	txn, err := doc.Txn()
	if err != nil {
		return op.Txn{}, err
	}
	return txn, nil
}

// clientTxn is a transaction as the client takes it.
func clientTxn(txn op.Txn) client.Txn {
	var c client.Txn
	for _, compare := range txn.Compares {
		c.If = append(c.If, clientCompare(compare))
	}
	for _, o := range txn.Then {
		c.Then = append(c.Then, clientOp(o))
	}
	for _, o := range txn.Else {
		c.Else = append(c.Else, clientOp(o))
	}
	return c
}

func clientCompare(c op.Compare) client.Compare {
	var opts []client.WriteOption
	switch c.Cond.Kind {
	case op.CondAbsent:
		opts = append(opts, client.IfAbsent())
	case op.CondPresent:
		opts = append(opts, client.IfPresent())
	case op.CondVersion:
		opts = append(opts, client.IfVersion(c.Cond.Version))
	case op.CondValue:
		opts = append(opts, client.IfValue(c.Cond.Value))
	}
	if c.Cond.Show {
		opts = append(opts, client.ShowValue())
	}
	return client.When(string(c.Key), opts...)
}

func clientOp(o op.Op) client.Op {
	switch o := o.(type) {
	case op.Set:
		return client.SetOp(string(o.Key), o.Value, setOptions(o)...)
	case op.Add:
		return client.AddOp(string(o.Key), o.Delta, additionOptions(o)...)
	case op.Expire:
		if o.TTL == 0 {
			return client.PersistOp(string(o.Key))
		}
		return client.ExpireOp(string(o.Key), time.Duration(o.TTL)*time.Millisecond)
	case op.Delete:
		return client.DeleteOp(string(o.Key))
	}
	return client.GetOp(string(op.Keys(o)[0]))
}

func setOptions(o op.Set) []client.WriteOption {
	opts := ttlOption(o.TTL)
	if o.KeepTTL {
		opts = append(opts, client.KeepTTL())
	}
	if o.Protect {
		opts = append(opts, client.Protected())
	}
	return opts
}

func additionOptions(o op.Add) []client.WriteOption {
	opts := ttlOption(o.TTL)
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

// ttlOption is a time to live in ms, which 0 is not.
func ttlOption(ttl int64) []client.WriteOption {
	if ttl == 0 {
		return nil
	}
	return []client.WriteOption{client.WithTTL(time.Duration(ttl) * time.Millisecond)}
}
