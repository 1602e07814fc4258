package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/internal/media"
	"github.com/ringraft/ringraft/op"
)

type versionDocument struct {
	Version uint64 `json:"version"`
}

// get answers GET and HEAD: with {"value": …}, or the bytes with their media type.
func (c *call) get() (answer, *problem) {
	raw := wantsBytes(c.request.Header)
	var item op.Item
	var kept []byte // of the media type
	if raw {
		res := c.read(op.MGet{Keys: [][]byte{c.key, media.Key(c.key)}})
		if res.Err != nil {
			return answer{}, failure(res.Err)
		}
		item, kept = res.Items[0], res.Items[1].Value
	} else {
		res := c.read(op.Get{Key: c.key})
		if res.Err != nil {
			return answer{}, failure(res.Err)
		}
		item = op.Item{Found: res.Found, Version: res.Version, Value: res.Value, TTL: res.TTL}
	}
	switch {
	case !item.Found:
		return answer{}, notFound(string(c.key))
	case !c.precondition.matched(true, item.Version):
		return answer{}, unmet(true, item.Version)
	}
	ans := answer{status: http.StatusNotModified}
	switch {
	case !c.precondition.unlike(true, item.Version):
	case raw:
		ans = answer{status: http.StatusOK, media: media.Of(kept, item.Value), body: item.Value}
	default:
		ans = jsonAnswer(http.StatusOK, document.NewValue(item.Value))
	}
	ans.version, ans.ttl, ans.varies = item.Version, time.Duration(item.TTL)*time.Millisecond, true
	return ans, nil
}

// set answers POST.
func (c *call) set() (answer, *problem) {
	var doc document.Record
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	o, err := doc.Op(c.key)
	if err != nil {
		return answer{}, failure(err)
	}
	return c.store(o, "")
}

// put answers PUT.
func (c *call) put() (answer, *problem) {
	typ, p := c.mediaType()
	if p != nil {
		return answer{}, p
	}
	o := op.Set{Key: c.key}
	if o.KeepTTL, p = c.flag("keep_ttl"); p != nil {
		return answer{}, p
	}
	if o.Protect, p = c.flag("protect"); p != nil {
		return answer{}, p
	}
	if c.query.Has("ttl") {
		text := c.query.Get("ttl")
		var err *op.Error
		if o.TTL, err = document.TTL(&text); err != nil {
			return answer{}, badRequest("ttl", "%s", err.Message)
		}
	}
	if o.Value, p = c.plainBody(); p != nil {
		return answer{}, p
	}
	return c.store(o, typ)
}

// flag returns a parameter of the query that is true or false.
func (c *call) flag(name string) (bool, *problem) {
	text := c.query.Get(name)
	on, err := strconv.ParseBool(text)
	if err != nil && c.query.Has(name) {
		return false, badRequest(name, "is %.64q; it is true or false", text)
	}
	return on, nil
}

// store puts a value, and what there is to keep of its media type, in one entry.
func (c *call) store(o op.Set, typ string) (answer, *problem) {
	var beside op.Op = op.Delete{Key: media.Key(o.Key)}
	if typ != "" {
		beside = op.Set{
			Key: media.Key(o.Key), Value: media.Record(typ, o.Value),
			TTL: o.TTL, KeepTTL: o.KeepTTL, Protect: o.Protect,
		}
	}
	res, p := c.conditional(func(cond op.Cond) op.Result { return c.changeKey(cond, o, beside) })
	if p != nil {
		return answer{}, p
	}
	status := http.StatusCreated
	if res.Found {
		status = http.StatusOK
	}
	ans := jsonAnswer(status, versionDocument{res.Version})
	ans.version = res.Version
	return ans, nil
}

// delete answers DELETE.
func (c *call) delete() (answer, *problem) {
	res, p := c.conditional(func(cond op.Cond) op.Result {
		return c.changeKey(cond, op.Delete{Key: c.key}, op.Delete{Key: media.Key(c.key)})
	})
	switch {
	case p != nil:
		return answer{}, p
	case !res.Found:
		return answer{}, notFound(string(c.key))
	}
	return answer{status: http.StatusNoContent}, nil
}

// changeKey does o on the call's key, and other operations in its slot, in one entry, if
// the condition holds for the key. The result is o's.
func (c *call) changeKey(cond op.Cond, o op.Op, beside ...op.Op) op.Result {
	txn := op.Txn{Then: append([]op.Op{o}, beside...)}
	if cond.Kind != op.CondNone {
		txn.Compares = []op.Compare{{Key: c.key, Cond: cond}}
	}
	res := c.change(txn)
	switch {
	case res.Err != nil:
		res.Err.Field = res.Err.Field[strings.LastIndexByte(res.Err.Field, '.')+1:] // the caller knows of no list
		return res
	case res.Unmet:
		it := res.Items[0]
		return op.Result{Unmet: true, Found: it.Found, Version: it.Version}
	}
	return res.Results[0]
}
