package httpapi

import (
	"fmt"
	"net/http"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

type numberDocument struct {
	Number  int64  `json:"number"`
	Version uint64 `json:"version"`
}

// add adds to a counter.
func (c *call) add() (answer, *problem) {
	var doc document.Add
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	o, err := doc.Op(c.key)
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
