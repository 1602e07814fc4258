package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringraft/ringraft/internal/sealed"
	"github.com/ringraft/ringraft/op"
)

const (
	levelHeader   = "Read-Consistency"
	sessionHeader = "Ringraft-Session"
)

// consistency is the level of a request's reads, and the age that bounded allows, in ms.
type consistency struct {
	level op.Level
	age   uint64
}

// newConsistency takes the level from the query or the header. Where neither names one,
// a request with a session token reads at session, any other the latest.
func newConsistency(query url.Values, h http.Header) (consistency, *problem) {
	named := slices.Concat(query["read"], h.Values(levelHeader))
	switch {
	case len(named) == 0 && h.Get(sessionHeader) != "":
		return consistency{level: op.Session}, nil
	case len(named) == 0:
		return consistency{level: op.Linearizable}, nil
	case len(slices.Compact(named)) > 1:
		return consistency{}, badRequest("read", "two levels are named")
	}
	if age, ok := strings.CutPrefix(named[0], "bounded="); ok {
		d, err := time.ParseDuration(age)
		if err != nil || d < time.Millisecond || d > op.MaxBound*time.Millisecond {
			return consistency{}, badRequest("read", "%q is no age between 1ms and %v", age, op.MaxBound*time.Millisecond)
		}
		return consistency{op.Bounded, uint64(d.Milliseconds())}, nil
	}
	for _, l := range []op.Level{op.Local, op.Session, op.Linearizable} {
		if named[0] == l.String() {
			return consistency{level: l}, nil
		}
	}
	return consistency{}, badRequest("read", "%q is no read level; it is local, session, bounded=AGE or linearizable", named[0])
}

// seen is the newest log index of each group that a session has seen.
type seen map[uint64]uint64

// newSeen reads the session token, if one is given.
func newSeen(h http.Header, cluster string) (seen, *problem) {
	s := seen{}
	text := h.Get(sessionHeader)
	if text == "" {
		return s, nil
	}
	token, err := sealed.ParseToken(text, cluster, maxHeader)
	if err != nil {
		return nil, badRequest(sessionHeader, "%s", err.Message)
	}
	for _, at := range token.Seen {
		s.note(at.Group, at.Index)
	}
	return s, nil
}

func (s seen) note(group, index uint64) {
	if index > 0 {
		s[group] = max(s[group], index)
	}
}

// token returns the session token that says so, "" if nothing was seen.
func (s seen) token(cluster string) string {
	if len(s) == 0 {
		return ""
	}
	t := sealed.Token{Cluster: cluster}
	for group, index := range s {
		t.Seen = append(t.Seen, op.GroupIndex{Group: group, Index: index})
	}
	return t.String()
}
