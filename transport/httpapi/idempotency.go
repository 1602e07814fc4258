package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/backoff"
	"github.com/ringraft/ringraft/op"
)

// A write with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header) is done
// once, however often it is sent. Two attached records see to that, which are never
// evicted: a claim, found by the key alone, which tells what the key stands for; and,
// beside what is written and in its entry, the answer. See
// docs/decisions/0020-idempotency-keys.md.

const (
	keyHeader      = "Idempotency-Key"
	expiresHeader  = "Idempotency-Expires"
	replayedHeader = "Idempotency-Replayed"

	claimKind  = 'c'
	answerKind = 'a'

	// maxIdempotencyKey is the longest key, in bytes.
	maxIdempotencyKey = 255
	// keptFor is how long a key is remembered for which nothing else is asked.
	keptFor      = 24 * time.Hour
	leastKeptFor = time.Second
	mostKeptFor  = 7 * 24 * time.Hour
)

// digest names a key, or marks a request.
type digest [sha256.Size]byte

// idempotency is what a request with a key asks for.
type idempotency struct {
	name     digest // of the tenant and the key
	mark     digest // of all that the request says
	ttl      int64  // ms
	mine     bool   // no earlier request of the key is known
	doubted  bool   // a try of this request may have been done
	replayed bool   // the answer is that of an earlier request
}

// newIdempotency reads the headers, and the body, which is part of the mark. Without a
// key, or at an action that does not write, there is nothing to be done once.
func (c *call) newIdempotency() (*idempotency, *problem) {
	lines := c.request.Header.Values(keyHeader)
	if len(lines) == 0 || !c.action.writes {
		return nil, nil
	}
	key, ok := parseIdempotencyKey(lines)
	if !ok {
		return nil, badRequest(keyHeader, "must be given once, with 1 to %d visible ASCII characters, in quotes or without", maxIdempotencyKey)
	}
	o := &idempotency{ttl: keptFor.Milliseconds()}
	if text := c.request.Header.Get(expiresHeader); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < leastKeptFor || d > mostKeptFor {
			return nil, badRequest(expiresHeader, "is %.64q; it is a time between %v and %v, such as 1h", text, leastKeptFor, mostKeptFor)
		}
		o.ttl = d.Milliseconds()
	}
	if c.action.takes != "" {
		if _, p := c.plainBody(); p != nil {
			return nil, p
		}
	}
	const tenant = "" // there is one
	o.name = digestOf(tenant, key)
	h := c.request.Header
	o.mark = digestOf(c.request.Method, c.resource.path, string(c.key), c.query.Encode(), h.Get("Content-Type"),
		strings.Join(h["If-Match"], ","), strings.Join(h["If-None-Match"], ","), string(digestOfBody(c.body)))
	return o, nil
}

// parseIdempotencyKey returns the key. A structured field's string, in quotes, and the
// same text without them are one key.
func parseIdempotencyKey(lines []string) (key string, ok bool) {
	if len(lines) != 1 {
		return "", false
	}
	text, quoted := strings.CutPrefix(strings.Trim(lines[0], " \t"), `"`)
	if quoted {
		if text, ok = strings.CutSuffix(text, `"`); !ok {
			return "", false
		}
	}
	if len(text) == 0 || len(text) > maxIdempotencyKey {
		return "", false
	}
	outside := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }
	return text, strings.IndexFunc(text, outside) < 0
}

// digestOf returns a digest of the parts and where they end.
func digestOf(parts ...string) digest {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return digest(h.Sum(nil))
}

func digestOfBody(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:]
}

// claimKey returns the key of the claim.
func (o *idempotency) claimKey() []byte {
	return op.AttachedKey(op.SlotOf(o.name[:]), claimKind, o.name[:])
}

// answerKey returns the key of the answer beside what slot holds.
func (o *idempotency) answerKey(slot uint16) []byte {
	return op.AttachedKey(slot, answerKind, o.name[:])
}

// serveOnce serves a request with a key, which nobody else is serving here.
func (c *call) serveOnce() (answer, *problem) {
	leave, p := c.server.flights.enter(c.once)
	if p != nil {
		return answer{}, p
	}
	defer leave()
	if p := c.claim(); p != nil {
		return answer{}, p
	}
	ans, p := c.action.serve(c)
	if p != nil && c.once.mine && p.nothingDone() {
		c.ask(op.Delete{Key: c.once.claimKey(), Cond: op.Cond{Kind: op.CondValue, Value: c.once.mark[:]}}, op.Local, 0)
	}
	return ans, p
}

// claim makes the key stand for this request, unless it stands for another one.
func (c *call) claim() *problem {
	res, doubted := c.insist(op.Set{
		Key: c.once.claimKey(), Value: c.once.mark[:], TTL: c.once.ttl, Protect: true,
		Cond: op.Cond{Kind: op.CondAbsent, Show: true},
	})
	switch {
	case res.Err != nil && res.Err.Kind == op.KindUnknown:
		return failure(op.Unavailable("%s", res.Err.Message)) // of the write itself nothing happened
	case res.Err != nil:
		return failure(res.Err)
	case res.Unmet && !bytes.Equal(res.Value, c.once.mark[:]):
		return errOtherRequest()
	}
	c.once.mine = !res.Unmet || doubted
	return nil
}

// insist does a write that can be repeated, until its outcome is known or the call's time
// is over. doubted reports that a try before the last may have been done.
func (c *call) insist(o op.Write) (res op.Result, doubted bool) {
	for try := 0; ; try++ {
		res = c.ask(o, op.Local, 0)
		unknown := res.Err != nil && res.Err.Kind == op.KindUnknown
		if !unknown || (backoff.Backoff{Min: minPause, Max: maxPause}).Pause(c.ctx, try) != nil {
			break
		}
		doubted = true
	}
	if doubted && res.Err != nil && res.Err.Is(op.ErrUnavailable) {
		res = op.Fail(op.UnknownOutcome("%s", res.Err.Message))
	}
	return res, doubted
}

func errOtherRequest() *problem {
	return &problem{status: http.StatusUnprocessableEntity, kind: "key-reused", field: keyHeader, detail: "the key stands for another request: its method, path, body or conditions differ"}
}

// nothingDone reports whether a write that failed so has surely left nothing, no answer
// either. That a key to delete was missing is an answer.
func (p *problem) nothingDone() bool {
	switch p.status {
	case http.StatusGatewayTimeout, http.StatusInternalServerError, http.StatusNotFound:
		return false
	}
	return true
}

// change does a transaction of one group; with an idempotency key, once.
func (c *call) change(txn op.Txn) op.Result {
	if c.once == nil {
		return c.ask(txn, op.Local, 0)
	}
	res, doubted := c.insist(op.Once{Key: c.once.answerKey(txn.Slot(0)), Mark: c.once.mark[:], TTL: c.once.ttl, Txn: txn})
	c.once.doubted = c.once.doubted || doubted
	if res.Err == nil && res.Found {
		return c.replay(res.Value)
	}
	return res
}

// replay returns the answer that was kept.
func (c *call) replay(kept []byte) op.Result {
	mark, res, err := op.SplitKept(kept)
	switch {
	case err != nil:
		return op.Fail(&op.Error{Message: "the answer that was kept is damaged: " + err.Error()})
	case !bytes.Equal(mark, c.once.mark[:]):
		return op.Fail(op.Invalid(keyHeader, "stands for another request"))
	}
	c.once.replayed = !c.once.mine || !c.once.doubted
	return res
}

// kept returns the answer to an earlier request of the same key, beside what slot holds.
func (c *call) kept(slot uint16) (res op.Result, ok bool) {
	if c.once == nil {
		return op.Result{}, false
	}
	stands := c.ask(op.Get{Key: c.once.answerKey(slot)}, op.Linearizable, 0)
	switch {
	case stands.Err != nil:
		return stands, true
	case !stands.Found:
		return op.Result{}, false
	}
	return c.replay(stands.Value), true
}

// flights are the requests with a key that a server is serving.
type flights struct {
	mu    sync.Mutex
	marks map[digest]digest // by name
}

// enter adds a request, until leave is called, unless one of its key is under way.
func (f *flights) enter(o *idempotency) (leave func(), p *problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch mark, flying := f.marks[o.name]; {
	case flying && mark == o.mark:
		return nil, &problem{status: http.StatusConflict, kind: "in-flight", field: keyHeader, later: true, detail: "a request of this key is being served"}
	case flying:
		return nil, errOtherRequest()
	}
	f.marks[o.name] = o.mark
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.marks, o.name)
	}, nil
}
