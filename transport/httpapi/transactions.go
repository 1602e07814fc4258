package httpapi

import (
	"net/http"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

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
	var doc document.Transaction
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	txn, err := doc.Txn()
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
