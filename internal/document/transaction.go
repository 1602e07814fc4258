package document

import (
	"fmt"

	"github.com/ringraft/ringraft/op"
)

// Transaction is compares, and the operations that follow from them.
type Transaction struct {
	If   []Compare   `json:"if"`
	Then []Operation `json:"then"`
	Else []Operation `json:"else"`
}

// Compare is a condition on what stands at a key: exactly one of absent, present, version
// and value.
type Compare struct {
	KeyField
	ValueField
	Absent  bool    `json:"absent"`
	Present bool    `json:"present"`
	Version *uint64 `json:"version"`
	Show    bool    `json:"show"`
}

// Operation holds exactly one of its fields.
type Operation struct {
	Set    *Pair     `json:"set"`
	Add    *NamedAdd `json:"add"`
	Expire *Expire   `json:"expire"`
	Delete *KeyField `json:"delete"`
	Get    *KeyField `json:"get"`
}

// Record is what is to stand at a key.
type Record struct {
	ValueField
	LifeField
}

// Pair is a key and what is to stand there.
type Pair struct {
	KeyField
	Record
}

// Add is an addition to a number.
type Add struct {
	Delta   *int64  `json:"delta"` // 1 if it is left out
	AtLeast *int64  `json:"at_least"`
	AtMost  *int64  `json:"at_most"`
	Clamp   bool    `json:"clamp"`
	TTL     *string `json:"ttl"`
}

// NamedAdd is an addition to the number at a key.
type NamedAdd struct {
	KeyField
	Add
}

// Expire changes the time to live of a key.
type Expire struct {
	KeyField
	TTL *string `json:"ttl"` // or never
}

// Txn returns the transaction. Its errors name the part at fault.
func (d Transaction) Txn() (txn op.Txn, err *op.Error) {
	for i, c := range d.If {
		compare, err := c.compare()
		if err != nil {
			return txn, within(fmt.Sprintf("if[%d]", i), err)
		}
		txn.Compares = append(txn.Compares, compare)
	}
	if txn.Then, err = operations("then", d.Then); err != nil {
		return txn, err
	}
	txn.Else, err = operations("else", d.Else)
	return txn, err
}

func operations(list string, docs []Operation) ([]op.Op, *op.Error) {
	var ops []op.Op
	for i, d := range docs {
		o, err := d.op()
		if err != nil {
			return nil, within(fmt.Sprintf("%s[%d]", list, i), err)
		}
		ops = append(ops, o)
	}
	return ops, nil
}

// within says in which part of a document an error is.
func within(part string, err *op.Error) *op.Error {
	err.Field = part + "." + err.Field
	return err
}

func (d Compare) compare() (op.Compare, *op.Error) {
	key, err := d.KeyBytes()
	if err != nil {
		return op.Compare{}, err
	}
	var conds []op.Cond
	if d.Absent {
		conds = append(conds, op.Cond{Kind: op.CondAbsent})
	}
	if d.Present {
		conds = append(conds, op.Cond{Kind: op.CondPresent})
	}
	if d.Version != nil {
		conds = append(conds, op.Cond{Kind: op.CondVersion, Version: *d.Version})
	}
	if d.HasValue() {
		value, err := d.ValueBytes()
		if err != nil {
			return op.Compare{}, err
		}
		conds = append(conds, op.Cond{Kind: op.CondValue, Value: value})
	}
	if len(conds) != 1 {
		return op.Compare{}, op.Invalid("cond", "must be exactly one of absent, present, version and value; there are %d", len(conds))
	}
	conds[0].Show = d.Show
	return op.Compare{Key: key, Cond: conds[0]}, nil
}

// op returns the operation that the one field holds.
func (d Operation) op() (o op.Op, err *op.Error) {
	given := 0
	if d.Set != nil {
		given++
		o, err = d.Set.Op()
	}
	if d.Add != nil {
		given++
		o, err = d.Add.op()
	}
	if d.Expire != nil {
		given++
		o, err = d.Expire.op()
	}
	if d.Delete != nil {
		given++
		var key []byte
		key, err = d.Delete.KeyBytes()
		o = op.Delete{Key: key}
	}
	if d.Get != nil {
		given++
		var key []byte
		key, err = d.Get.KeyBytes()
		o = op.Get{Key: key}
	}
	if given != 1 {
		return nil, op.Invalid("operation", "must be exactly one of set, add, expire, delete and get; there are %d", given)
	}
	return o, err
}

// Op returns the operation that puts the record at its key.
func (d Pair) Op() (op.Set, *op.Error) {
	key, err := d.KeyBytes()
	if err != nil {
		return op.Set{}, err
	}
	return d.Record.Op(key)
}

// Op returns the operation that puts the record at key.
func (d Record) Op(key []byte) (o op.Set, err *op.Error) {
	o = op.Set{Key: key, KeepTTL: d.KeepTTL, Protect: d.Protect}
	if o.Value, err = d.ValueBytes(); err != nil {
		return o, err
	}
	o.TTL, err = TTL(d.TTL)
	return o, err
}

// Op returns the operation that adds to what stands at key.
func (d Add) Op(key []byte) (o op.Add, err *op.Error) {
	o = op.Add{Key: key, Delta: 1, Min: d.AtLeast, Max: d.AtMost, Clamp: d.Clamp}
	if d.Delta != nil {
		o.Delta = *d.Delta
	}
	o.TTL, err = TTL(d.TTL)
	return o, err
}

func (d NamedAdd) op() (op.Op, *op.Error) {
	key, err := d.KeyBytes()
	if err != nil {
		return nil, err
	}
	return d.Add.Op(key)
}

func (d Expire) op() (op.Op, *op.Error) {
	key, err := d.KeyBytes()
	switch {
	case err != nil:
		return nil, err
	case d.TTL == nil:
		return nil, op.Invalid("ttl", "is missing; it is a time such as 30s, or never")
	case *d.TTL == "never":
		return op.Expire{Key: key}, nil
	}
	ttl, err := TTL(d.TTL)
	return op.Expire{Key: key, TTL: ttl}, err
}
