package httpapi

import (
	"fmt"
	"net/http"

	"github.com/ringraft/ringraft/op"
)

// additionDocument is the body of a POST to a counter.
type additionDocument struct {
	Delta   *int64  `json:"delta"` // 1 if it is left out
	AtLeast *int64  `json:"at_least"`
	AtMost  *int64  `json:"at_most"`
	Clamp   bool    `json:"clamp"`
	TTL     *string `json:"ttl"`
}

func (d additionDocument) op(key []byte) (op.Add, *op.Error) {
	o := op.Add{Key: key, Delta: 1, Min: d.AtLeast, Max: d.AtMost, Clamp: d.Clamp}
	if d.Delta != nil {
		o.Delta = *d.Delta
	}
	var err *op.Error
	o.TTL, err = ttlOf(d.TTL)
	return o, err
}

type numberDocument struct {
	Number  int64  `json:"number"`
	Version uint64 `json:"version"`
}

// add adds to a counter.
func (c *call) add() (answer, *problem) {
	var doc additionDocument
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	o, err := doc.op(c.key)
	if err != nil {
		return answer{}, failure(err)
	}
	res, p := c.conditional(func(cond op.Cond) op.Result {
		if c.once != nil {
			return c.changeKey(cond, o)
		}
		o.Cond = cond // alone, it tells by how much a sum leaves its bounds
		return c.ask(o, op.Local, 0)
	})
	switch {
	case p != nil:
		return answer{}, p
	case res.Unmet:
		return answer{}, &problem{status: http.StatusConflict, kind: "bound", field: "delta", detail: fmt.Sprintf("the sum would leave its bounds; the number is %d", res.Number)}
	}
	ans := jsonAnswer(http.StatusOK, numberDocument{res.Number, res.Version})
	ans.version = res.Version
	return ans, nil
}
