package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// origins says which web pages may use the server (https://fetch.spec.whatwg.org, CORS).
type origins struct {
	allowed []string
	all     bool
	guard   *http.CrossOriginProtection
}

func newOrigins(allowed []string) (*origins, error) {
	o := &origins{allowed: allowed, all: slices.Contains(allowed, "*"), guard: http.NewCrossOriginProtection()}
	for _, origin := range allowed {
		if origin == "*" {
			continue
		}
		if err := o.guard.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("http server: origin %q: %w", origin, err)
		}
	}
	return o, nil
}

// admit tells a browser what the page may do, and refuses writes of pages that may not:
// a browser sends some of them without having asked.
func (o *origins) admit(h http.Header, r *http.Request) *problem {
	origin := r.Header.Get("Origin")
	if len(o.allowed) > 0 {
		h.Add("Vary", "Origin")
		if origin != "" && (o.all || slices.Contains(o.allowed, origin)) {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", strings.Join(exposed, ", "))
			if method := r.Header.Get("Access-Control-Request-Method"); method != "" && r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", method)
				h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
				h.Set("Access-Control-Max-Age", "600")
			}
		}
	}
	if o.all {
		return nil
	}
	if err := o.guard.Check(r); err != nil {
		return &problem{status: http.StatusForbidden, kind: "origin", field: "Origin", detail: "pages of this origin may not write here"}
	}
	return nil
}

// exposed are the headers of answers that a page may read.
var exposed = []string{"ETag", "Allow", "Retry-After", "Ringraft-Ttl", sessionHeader, replayedHeader}
