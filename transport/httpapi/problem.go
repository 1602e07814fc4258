package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// problemType is the media type of all failures: RFC 9457.
const problemType = "application/problem+json"

// problem is how a request fails. Its kind is a word that programs branch on.
type problem struct {
	status int
	kind   string
	field  string // at fault, if one is
	detail string // for people

	allow string // 405: the methods that there are
	etag  string // 412: of what stands there, "" if nothing does
	later bool   // it may be tried again after a second
}

// body returns the problem as RFC 9457 has it. Text of the client comes in JSON strings
// only, so it cannot break out.
func (p *problem) body() []byte {
	b, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail,omitempty"`
		Field  string `json:"field,omitempty"`
	}{"urn:ringraft:problem:" + p.kind, http.StatusText(p.status), p.status, p.detail, p.field})
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return append(b, '\n')
}

// The kinds of op's errors, and what they are in HTTP. It is the only place where a
// status follows from an error of an operation.
var failures = map[op.Kind]problem{
	op.KindInvalid:      {status: http.StatusUnprocessableEntity, kind: "invalid"},
	op.KindOutOfMemory:  {status: http.StatusInsufficientStorage, kind: "out-of-memory"},
	op.KindWrongNode:    {status: http.StatusServiceUnavailable, kind: "unavailable", later: true},
	op.KindUnavailable:  {status: http.StatusServiceUnavailable, kind: "unavailable", later: true},
	op.KindUnknown:      {status: http.StatusGatewayTimeout, kind: "unknown-outcome"},
	op.KindConflict:     {status: http.StatusConflict, kind: "conflict"},
	op.KindSessionEnded: {status: http.StatusServiceUnavailable, kind: "unavailable", later: true},
	op.KindLocked:       {status: http.StatusServiceUnavailable, kind: "unavailable", later: true},
}

// failure returns err as a problem.
func failure(err *op.Error) *problem {
	p, known := failures[err.Kind]
	if !known {
		p = problem{status: http.StatusInternalServerError, kind: "internal"}
	}
	p.field, p.detail = err.Field, err.Error()
	// Of a value, and of all keys and values together, nothing but the size is checked.
	part := err.Field[strings.LastIndexByte(err.Field, '.')+1:]
	switch {
	case err.Kind != op.KindInvalid:
	case part == "value" || part == "txn":
		p.status, p.kind = http.StatusRequestEntityTooLarge, "too-large"
	case part == "bound": // of a session token: it comes from another log, as before a restore
		p.status, p.kind, p.field = http.StatusBadRequest, "malformed", sessionHeader
	}
	return &p
}

// badRequest is a request that cannot be read, apart from what its body says.
func badRequest(field, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, kind: "malformed", field: field, detail: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *problem {
	return failure(op.Invalid(field, format, args...))
}

func tooLarge(limit int64) *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, kind: "too-large", detail: fmt.Sprintf("the body has more than %d bytes, the limit", limit)}
}

func errNoRoom() *problem {
	return &problem{status: http.StatusTooManyRequests, kind: "busy", later: true, detail: "there is no room for the body now"}
}

func unmet(found bool, version uint64) *problem {
	p := &problem{status: http.StatusPreconditionFailed, kind: "precondition", detail: "the precondition does not hold; there is no such key"}
	if found {
		p.etag = etagOf(version)
		p.detail = "the precondition does not hold; the key's ETag is " + p.etag
	}
	return p
}

func notFound(key string) *problem {
	return &problem{status: http.StatusNotFound, kind: "not-found", field: "key", detail: fmt.Sprintf("there is no key %.64q", key)}
}
