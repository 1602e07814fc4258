package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringraft/ringraft/op"
)

// call is one request on its way through the front.
type call struct {
	server  *Server
	request *http.Request
	out     http.ResponseWriter
	ctx     context.Context // ends with the time for the cluster's answer

	resource *resource
	action   *action
	key      []byte
	query    url.Values

	reads        consistency
	precondition precondition
	seen         seen
	once         *idempotency // nil: the request has no idempotency key
	body         []byte       // once it was read
	reserved     int64        // bytes of the server's budget
}

// answer is what a request came to. It has a JSON document or bytes, or nothing.
type answer struct {
	status  int
	version uint64        // of the key; 0: the answer has no ETag
	ttl     time.Duration // of the key; 0: none
	varies  bool          // the form depends on Accept
	media   string        // of body; "" is JSON
	body    []byte
	allow   string // the methods that there are
}

// ServeHTTP answers a request. One over the number that the server serves at a time is
// not looked at.
func (s *Server) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	c := &call{server: s, request: r, out: out}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		c.writeProblem(&problem{status: http.StatusTooManyRequests, kind: "busy", later: true, detail: "there are too many requests at once"})
		return
	}
	ans, p := c.serve()
	s.bodies.left.Add(c.reserved)
	h := out.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if token := c.seen.token(s.cfg.Node.Cluster()); token != "" {
		h.Set(sessionHeader, token)
	}
	if c.once != nil && c.once.replayed {
		h.Set(replayedHeader, "true")
	}
	if p != nil {
		c.writeProblem(p)
		return
	}
	c.write(ans)
}

func (c *call) serve() (answer, *problem) {
	if p := c.route(); p != nil {
		return answer{}, p
	}
	if p := c.server.origins.admit(c.out.Header(), c.request); p != nil {
		return answer{}, p
	}
	if c.action == nil {
		return c.options()
	}
	if p := c.prepare(); p != nil {
		return answer{}, p
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(c.request.Context(), c.server.cfg.RequestTimeout)
	defer cancel()
	var p *problem
	if c.once, p = c.newIdempotency(); p != nil {
		return answer{}, p
	}
	if c.once != nil {
		return c.serveOnce()
	}
	return c.action.serve(c)
}

// route finds the resource and what the method does with it. There is no action for
// OPTIONS.
func (c *call) route() *problem {
	path, query, ok := splitTarget(c.request.RequestURI)
	if !ok {
		return badRequest("path", "does not start with a slash")
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return badRequest("path", "%v", err)
	}
	if c.query, err = url.ParseQuery(query); err != nil {
		return badRequest("query", "%v", err)
	}
	r, key := find(c.server.resources, decoded)
	if r == nil {
		return &problem{status: http.StatusNotFound, kind: "no-resource", field: "path", detail: "what starts with /-/ is the server's own, and there is nothing of that name; a key that does is at /-/kv/"}
	}
	c.resource, c.key = r, []byte(key)
	if c.action = r.action(c.request.Method); c.action == nil && c.request.Method != http.MethodOptions {
		return &problem{status: http.StatusMethodNotAllowed, kind: "method", detail: "the method is not allowed here", allow: r.allow()}
	}
	return nil
}

// splitTarget returns the path, without the first slash, and the query of a request's
// target as it was sent: nothing is cleaned. Proxies may send a scheme and a host.
func splitTarget(target string) (path, query string, ok bool) {
	if _, rest, absolute := strings.Cut(target, "://"); absolute && target[0] != '/' {
		target = rest[strings.IndexAny(rest+"/", "/?"):]
	}
	target, query, _ = strings.Cut(target, "?")
	path, ok = strings.CutPrefix(target, "/")
	return path, query, ok
}

func (c *call) options() (answer, *problem) {
	return answer{status: http.StatusNoContent, allow: c.resource.allow()}, nil
}

// prepare reads what all actions have in common.
func (c *call) prepare() (p *problem) {
	if c.resource.keyed && len(c.key) == 0 {
		return badRequest("key", "is empty; a key has 1 to %d bytes", op.MaxKey)
	}
	if c.resource.keyed && len(c.key) > op.MaxKey {
		return &problem{status: http.StatusRequestURITooLong, kind: "too-large", field: "key", detail: "has " + strconv.Itoa(len(c.key)) + " bytes; the limit is " + strconv.Itoa(op.MaxKey)}
	}
	for name, values := range c.query {
		switch {
		case !slices.ContainsFunc(c.action.query, func(q parameter) bool { return q.name == name }):
			return badRequest(name, "is no parameter of this request")
		case len(values) > 1:
			return badRequest(name, "is given twice")
		}
	}
	if c.reads, p = newConsistency(c.query, c.request.Header); p != nil {
		return p
	}
	if c.seen, p = newSeen(c.request.Header, c.server.cfg.Node.Cluster()); p != nil {
		return p
	}
	c.precondition, p = newPrecondition(c.request.Header)
	return p
}

// ask serves an operation of one group, and notes what its answer shows.
func (c *call) ask(o op.Routed, level op.Level, bound uint64) op.Result {
	group := c.server.cfg.Node.Group(o.Slot(0))
	res := c.server.cfg.Node.Do(c.ctx, op.Request{Op: o, Level: level, Bound: bound})
	if res.Err == nil {
		c.seen.note(group, res.Index)
	}
	return res
}

// read serves a read at the call's level.
func (c *call) read(o op.Read) op.Result {
	return c.ask(o, c.reads.level, c.bound(o.Slot(0)))
}

// bound returns what goes with the call's level in a read of slot's group.
func (c *call) bound(slot uint16) uint64 {
	switch c.reads.level {
	case op.Session:
		return c.seen[c.server.cfg.Node.Group(slot)]
	case op.Bounded:
		return c.reads.age
	}
	return 0
}

func (c *call) write(a answer) {
	h := c.out.Header()
	if a.version != 0 {
		h.Set("ETag", etagOf(a.version))
		h.Set("Cache-Control", "no-cache") // to be kept, and asked about each time
	}
	if a.ttl != 0 {
		h.Set("Ringraft-Ttl", a.ttl.String())
	}
	if a.varies {
		h.Add("Vary", "Accept")
	}
	if a.allow != "" {
		h.Set("Allow", a.allow)
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		c.out.WriteHeader(a.status)
		return
	}
	if a.media == "" {
		a.media = jsonType
	}
	c.writeBody(a.status, a.media, a.body)
}

func (c *call) writeProblem(p *problem) {
	h := c.out.Header()
	if p.later {
		h.Set("Retry-After", "1")
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.etag != "" {
		h.Set("ETag", p.etag)
	}
	c.writeBody(p.status, problemType, p.body())
}

// writeBody writes an answer; net/http leaves the body out of one to HEAD.
func (c *call) writeBody(status int, media string, body []byte) {
	h := c.out.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.out.WriteHeader(status)
	_, _ = c.out.Write(body) // a client that is gone needs none
}
