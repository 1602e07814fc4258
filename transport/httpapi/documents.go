package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"github.com/ringraft/ringraft/internal/strictjson"
)

// document fills v, a pointer, from the request's JSON body. A body that says nothing of
// its media type is taken for JSON.
func (c *call) document(v any) *problem {
	if media := c.request.Header.Get("Content-Type"); media != "" {
		if name, _, err := mime.ParseMediaType(media); err != nil || name != jsonType {
			return &problem{status: http.StatusUnsupportedMediaType, kind: "media-type", field: "Content-Type", detail: fmt.Sprintf("is %.64q; the body must be %s", media, jsonType)}
		}
	}
	text, p := c.plainBody()
	if p != nil {
		return p
	}
	err := strictjson.Decode(text, v)
	var syntax *strictjson.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return badRequest("body", "%v", err)
	case err != nil:
		return invalid("body", "%v", err)
	}
	return nil
}

// plainBody returns the body of a request that has not encoded it.
func (c *call) plainBody() ([]byte, *problem) {
	if coding := c.request.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &problem{status: http.StatusUnsupportedMediaType, kind: "media-type", field: "Content-Encoding", detail: fmt.Sprintf("is %.64q; send the body as it is", coding)}
	}
	if c.body != nil {
		return c.body, nil
	}
	var p *problem
	c.body, p = c.readBody()
	return c.body, p
}

// jsonAnswer is an answer whose body is v.
func jsonAnswer(status int, v any) answer {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // documents are made of strings, numbers and bytes
	}
	return answer{status: status, body: b.Bytes()}
}

// milliseconds returns ttl for a JSON field, nil if it is none.
func milliseconds(ttl int64) *int64 {
	if ttl == 0 {
		return nil
	}
	return &ttl
}
