package httpapi

import (
	"fmt"
	"net/http"

	"github.com/ringraft/ringraft/op"
)

// transactionDocument is a transaction in JSON, as the command line takes it.
type transactionDocument struct {
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
	Set    *pairDocument   `json:"set"`
	Add    *namedAddition  `json:"add"`
	Expire *expireDocument `json:"expire"`
	Delete *keyField       `json:"delete"`
	Get    *keyField       `json:"get"`
}

type namedAddition struct {
	keyField
	additionDocument
}

type expireDocument struct {
	keyField
	TTL *string `json:"ttl"` // or never
}

// outcomeDocument is what a transaction came to.
type outcomeDocument struct {
	Met      bool             `json:"met"`
	Results  []resultDocument `json:"results,omitempty"`
	Standing []itemDocument   `json:"standing,omitempty"`
}

type resultDocument struct {
	itemDocument
	Number *int64 `json:"number,omitempty"`
}

// transact does a transaction.
func (c *call) transact() (answer, *problem) {
	var doc transactionDocument
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	txn, err := doc.txn()
	switch {
	case err != nil:
		return answer{}, failure(err)
	case txn.NumSlots() == 0:
		return answer{}, invalid("then", "is empty, and so are if and else")
	}
	res := c.changeAll(txn)
	if res.Err != nil {
		return answer{}, failure(res.Err)
	}
	return jsonAnswer(http.StatusOK, newOutcome(txn, res)), nil
}

func newOutcome(txn op.Txn, res op.Result) outcomeDocument {
	doc := outcomeDocument{Met: !res.Unmet}
	ran := txn.Then
	if res.Unmet {
		ran = txn.Else
	}
	for i, r := range res.Results {
		doc.Results = append(doc.Results, newResultDocument(ran[i], r))
	}
	show := map[string]bool{}
	for _, compare := range txn.Compares {
		show[string(compare.Key)] = compare.Cond.Show
	}
	for _, it := range res.Items {
		doc.Standing = append(doc.Standing, newItemDocument(it, show[string(it.Key)]))
	}
	return doc
}

func newResultDocument(o op.Op, res op.Result) resultDocument {
	_, read := o.(op.Get)
	it := op.Item{Key: op.Keys(o)[0], Found: res.Found, Version: res.Version, Value: res.Value, TTL: res.TTL}
	doc := resultDocument{itemDocument: newItemDocument(it, read)}
	if _, adds := o.(op.Add); adds {
		doc.Number = &res.Number
	}
	return doc
}

// txn returns the transaction. Its errors name the part at fault.
func (d transactionDocument) txn() (txn op.Txn, err *op.Error) {
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

func operations(list string, docs []operationDocument) ([]op.Op, *op.Error) {
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

func (d compareDocument) compare() (op.Compare, *op.Error) {
	key, err := d.key()
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
	if d.given() {
		value, err := d.value()
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
func (d operationDocument) op() (o op.Op, err *op.Error) {
	given := 0
	if d.Set != nil {
		given++
		o, err = d.Set.op()
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
		key, err = d.Delete.key()
		o = op.Delete{Key: key}
	}
	if d.Get != nil {
		given++
		var key []byte
		key, err = d.Get.key()
		o = op.Get{Key: key}
	}
	if given != 1 {
		return nil, op.Invalid("operation", "must be exactly one of set, add, expire, delete and get; there are %d", given)
	}
	return o, err
}

func (d namedAddition) op() (op.Op, *op.Error) {
	key, err := d.key()
	if err != nil {
		return nil, err
	}
	return d.additionDocument.op(key)
}

func (d expireDocument) op() (op.Op, *op.Error) {
	key, err := d.key()
	switch {
	case err != nil:
		return nil, err
	case d.TTL == nil:
		return nil, op.Invalid("ttl", "is missing; it is a time such as 30s, or never")
	case *d.TTL == "never":
		return op.Expire{Key: key}, nil
	}
	ttl, err := ttlOf(d.TTL)
	return op.Expire{Key: key, TTL: ttl}, err
}
