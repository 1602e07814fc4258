package transport

import (
	"bytes"
	"time"

	"github.com/ringraft/ringraft/op"
)

// call is one Do under way. Conn.mu guards where it stands: in the queue, among
// the sent ones, or in neither. Whoever takes it out of both completes it, unless that
// is Do itself, which then has it for its own.
type call struct {
	req   *op.Request // the caller's, not touched once Do returns
	code  op.Code
	until time.Time // when patrol gives it up; zero is never
	id    uint32    // 0 until it is sent

	res  op.Result
	err  error
	done chan struct{} // holds one token once res and err are set
}

func (c *call) complete(res op.Result, err error) {
	c.res, c.err = res, err
	c.done <- struct{}{}
}

// wait returns when the call is complete, or false when stop closes before. Where nothing
// can stop it, as with a context that is never cancelled, waiting costs half as much.
func (c *call) wait(stop <-chan struct{}) (complete bool) {
	if stop == nil {
		<-c.done
		return true
	}
	select {
	case <-c.done:
		return true
	case <-stop:
		return false
	}
}

// decodeResult returns the result that body holds and copies what it refers to:
// the body's memory is used again.
func decodeResult(body []byte) (op.Result, error) {
	res, err := op.DecodeResult(body)
	if err != nil {
		return op.Result{}, err
	}
	if len(res.Value)+len(res.Items)+len(res.Next)+len(res.Detail)+len(res.Results) == 0 {
		res.Value, res.Next, res.Detail = nil, nil, nil
		return res, nil
	}
	return op.DecodeResult(bytes.Clone(body))
}
