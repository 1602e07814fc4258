package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/strictjson"
	"github.com/ringraft/ringraft/op"
)

// parsedTxn is a transaction with what is needed to tell what became of it.
type parsedTxn struct {
	txn             client.Txn
	show            map[string]bool // by key compared
	then, otherwise []parsedOp
}

type parsedOp struct {
	code op.Code
	key  string
	op   client.Op
}

// txnDocument is a transaction in JSON; see the help of txn.
type txnDocument struct {
	If   []compareDocument   `json:"if"`
	Then []operationDocument `json:"then"`
	Else []operationDocument `json:"else"`
}

type compareDocument struct {
	keyField
	valueField
	Absent  bool    `json:"absent"`
	Present bool    `json:"present"`
	Version *uint64 `json:"version"`
	Show    bool    `json:"show"`
}

// operationDocument holds exactly one of its fields.
type operationDocument struct {
	Set    *setDocument    `json:"set"`
	Add    *addDocument    `json:"add"`
	Expire *expireDocument `json:"expire"`
	Delete *keyField       `json:"delete"`
	Get    *keyField       `json:"get"`
}

type setDocument struct {
	keyField
	valueField
	TTL     *string `json:"ttl"`
	KeepTTL bool    `json:"keep_ttl"`
	Protect bool    `json:"protect"`
}

type addDocument struct {
	keyField
	Delta   *int64  `json:"delta"`
	AtLeast *int64  `json:"at_least"`
	AtMost  *int64  `json:"at_most"`
	Clamp   bool    `json:"clamp"`
	TTL     *string `json:"ttl"`
}

type expireDocument struct {
	keyField
	TTL *string `json:"ttl"`
}

// parseTxn returns the transaction in text. Its errors name the part at fault.
func parseTxn(text []byte) (*parsedTxn, error) {
	var doc txnDocument
	if err := strictjson.Decode(text, &doc); err != nil {
		return nil, fmt.Errorf("no JSON object of the fields if, then and else: %w", err)
	}
	p := &parsedTxn{show: map[string]bool{}}
	if err := p.fill(doc); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *parsedTxn) fill(doc txnDocument) error {
	for i, c := range doc.If {
		compare, err := p.compare(c)
		if err != nil {
			return fmt.Errorf("if[%d]: %w", i, err)
		}
		p.txn.If = append(p.txn.If, compare)
	}
	for _, branch := range []struct {
		name string
		docs []operationDocument
		ops  *[]parsedOp
		txn  *[]client.Op
	}{{"then", doc.Then, &p.then, &p.txn.Then}, {"else", doc.Else, &p.otherwise, &p.txn.Else}} {
		for i, d := range branch.docs {
			o, err := parseOperation(d)
			if err != nil {
				return fmt.Errorf("%s[%d]: %w", branch.name, i, err)
			}
			*branch.ops = append(*branch.ops, o)
			*branch.txn = append(*branch.txn, o.op)
		}
	}
	return nil
}

func (p *parsedTxn) compare(c compareDocument) (client.Compare, error) {
	key, err := c.key()
	if err != nil {
		return client.Compare{}, err
	}
	var opts []client.WriteOption
	if c.Absent {
		opts = append(opts, client.IfAbsent())
	}
	if c.Present {
		opts = append(opts, client.IfPresent())
	}
	if c.Version != nil {
		opts = append(opts, client.IfVersion(*c.Version))
	}
	if c.given() {
		value, err := c.value()
		if err != nil {
			return client.Compare{}, err
		}
		opts = append(opts, client.IfValue(value))
	}
	if len(opts) != 1 {
		return client.Compare{}, fmt.Errorf("it must have exactly one of absent, present, version and value, has %d", len(opts))
	}
	if p.show[key] = c.Show; c.Show {
		opts = append(opts, client.ShowValue())
	}
	return client.When(key, opts...), nil
}

func parseOperation(d operationDocument) (parsedOp, error) {
	var ops []parsedOp
	var errs []error
	add := func(o parsedOp, err error) {
		ops, errs = append(ops, o), append(errs, err)
	}
	if d.Set != nil {
		add(parseSet(d.Set))
	}
	if d.Add != nil {
		add(parseAdd(d.Add))
	}
	if d.Expire != nil {
		add(parseExpire(d.Expire))
	}
	if d.Delete != nil {
		key, err := d.Delete.key()
		add(parsedOp{op.CodeDelete, key, client.DeleteOp(key)}, err)
	}
	if d.Get != nil {
		key, err := d.Get.key()
		add(parsedOp{op.CodeGet, key, client.GetOp(key)}, err)
	}
	if len(ops) != 1 {
		return parsedOp{}, fmt.Errorf("it must have exactly one of set, add, expire, delete and get, has %d", len(ops))
	}
	return ops[0], errs[0]
}

func parseSet(d *setDocument) (parsedOp, error) {
	key, err := d.key()
	if err != nil {
		return parsedOp{}, err
	}
	value, err := d.value()
	if err != nil {
		return parsedOp{}, err
	}
	opts, err := ttlOption(d.TTL)
	if d.KeepTTL {
		opts = append(opts, client.KeepTTL())
	}
	if d.Protect {
		opts = append(opts, client.Protected())
	}
	return parsedOp{op.CodeSet, key, client.SetOp(key, value, opts...)}, err
}

func parseAdd(d *addDocument) (parsedOp, error) {
	key, err := d.key()
	if err != nil {
		return parsedOp{}, err
	}
	if d.Delta == nil {
		return parsedOp{}, errors.New("delta is missing")
	}
	opts, err := ttlOption(d.TTL)
	if d.AtLeast != nil {
		opts = append(opts, client.AtLeast(*d.AtLeast))
	}
	if d.AtMost != nil {
		opts = append(opts, client.AtMost(*d.AtMost))
	}
	if d.Clamp {
		opts = append(opts, client.Clamped())
	}
	return parsedOp{op.CodeAdd, key, client.AddOp(key, *d.Delta, opts...)}, err
}

func parseExpire(d *expireDocument) (parsedOp, error) {
	key, err := d.key()
	switch {
	case err != nil:
		return parsedOp{}, err
	case d.TTL == nil:
		return parsedOp{}, errors.New("ttl is missing")
	case *d.TTL == "never":
		return parsedOp{op.CodeExpire, key, client.PersistOp(key)}, nil
	}
	var ttl time.Duration
	ttl, err = ttlOf("ttl", *d.TTL)
	return parsedOp{op.CodeExpire, key, client.ExpireOp(key, ttl)}, err
}

func ttlOption(text *string) ([]client.WriteOption, error) {
	if text == nil {
		return nil, nil
	}
	ttl, err := ttlOf("ttl", *text)
	if err != nil {
		return nil, err
	}
	return []client.WriteOption{client.WithTTL(ttl)}, nil
}
