package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// etagOf returns a version as a strong entity tag.
func etagOf(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// tagList is a list of entity tags, or * (RFC 9110, 8.8.3 and 13.1).
type tagList struct {
	any  bool
	tags []entityTag
}

type entityTag struct {
	opaque string // between the quotes
	weak   bool
}

// parseTags returns the tags that the lines of a header field list.
func parseTags(lines []string) (list tagList, ok bool) {
	text := strings.Trim(strings.Join(lines, ","), " \t")
	if text == "*" {
		return tagList{any: true}, true
	}
	text = strings.TrimLeft(text, ", \t")
	for text != "" {
		var tag entityTag
		text, tag.weak = strings.CutPrefix(text, "W/")
		rest, quoted := strings.CutPrefix(text, `"`)
		end := strings.IndexFunc(rest, func(r rune) bool { return r == '"' || r <= ' ' || r == 0x7f })
		if !quoted || end < 0 || rest[end] != '"' {
			return tagList{}, false
		}
		tag.opaque = rest[:end]
		list.tags = append(list.tags, tag)
		text = strings.TrimLeft(rest[end+1:], " \t")
		if text != "" && text[0] != ',' {
			return tagList{}, false
		}
		text = strings.TrimLeft(text, ", \t") // empty elements are allowed
	}
	return list, len(list.tags) > 0
}

// versions returns the versions that the list has tags of.
func (l tagList) versions(weakToo bool) []uint64 {
	var versions []uint64
	for _, tag := range l.tags {
		v, err := strconv.ParseUint(tag.opaque, 10, 64)
		if err == nil && v > 0 && strconv.FormatUint(v, 10) == tag.opaque && (weakToo || !tag.weak) {
			versions = append(versions, v)
		}
	}
	return versions
}

// precondition is what If-Match and If-None-Match ask of a request's key.
type precondition struct {
	match   *versionSet // nil: the header is missing
	noMatch *versionSet
}

// versionSet is the versions that a header names, or all there are.
type versionSet struct {
	any  bool
	list []uint64
}

func (s *versionSet) has(version uint64) bool { return s.any || slices.Contains(s.list, version) }

// newPrecondition reads the headers. An If-Match that is no list names no version, so it
// holds for none. An If-None-Match that is no list is refused, since to hold for all
// could destroy what it was to save.
func newPrecondition(h http.Header) (p precondition, bad *problem) {
	if lines, given := h["If-Match"]; given {
		list, _ := parseTags(lines)
		p.match = &versionSet{list.any, list.versions(false)}
	}
	if lines, given := h["If-None-Match"]; given {
		list, ok := parseTags(lines)
		if !ok {
			return p, badRequest("If-None-Match", "is neither * nor a list of entity tags, which have quotes")
		}
		p.noMatch = &versionSet{list.any, list.versions(true)}
	}
	return p, nil
}

func (p precondition) given() bool { return p.match != nil || p.noMatch != nil }

// holds judges the precondition by what stands at the key.
func (p precondition) holds(found bool, version uint64) bool {
	return p.matched(found, version) && p.unlike(found, version)
}

func (p precondition) matched(found bool, version uint64) bool {
	return p.match == nil || found && p.match.has(version)
}

func (p precondition) unlike(found bool, version uint64) bool {
	return p.noMatch == nil || !found || !p.noMatch.has(version)
}

// cond returns the condition that says the same, if there is one.
func (p precondition) cond() (cond op.Cond, ok bool) {
	switch {
	case !p.given():
		return op.Cond{}, true
	case p.noMatch == nil && p.match.any:
		return op.Cond{Kind: op.CondPresent}, true
	case p.noMatch == nil && len(p.match.list) == 1:
		return op.Cond{Kind: op.CondVersion, Version: p.match.list[0]}, true
	case p.match == nil && p.noMatch.any:
		return op.Cond{Kind: op.CondAbsent}, true
	}
	return op.Cond{}, false
}

// maxPins is how often a write is tried whose precondition no single condition says.
const maxPins = 16

// conditional does a write of the call's key under its precondition. write takes the
// condition to put into the entry, where alone it is judged. A precondition that no
// condition says is judged here, and what it was judged by is then the condition.
func (c *call) conditional(write func(op.Cond) op.Result) (op.Result, *problem) {
	res, p := c.attempt(write)
	if p == nil || p.status != http.StatusPreconditionFailed {
		return res, p
	}
	// It may fail by what an earlier request of the same idempotency key has done.
	switch kept, ok := c.kept(op.SlotOf(c.key)); {
	case !ok:
		return res, p
	case kept.Err != nil:
		return kept, failure(kept.Err)
	default:
		return kept.Results[0], nil
	}
}

func (c *call) attempt(write func(op.Cond) op.Result) (op.Result, *problem) {
	if cond, ok := c.precondition.cond(); ok {
		res := write(cond)
		switch {
		case res.Err != nil:
			return res, failure(res.Err)
		case res.Unmet && !c.precondition.holds(res.Found, res.Version):
			return res, unmet(res.Found, res.Version)
		}
		return res, nil
	}
	standing := c.ask(op.Stat{Key: c.key}, op.Linearizable, 0)
	for range maxPins {
		switch {
		case standing.Err != nil:
			return standing, failure(standing.Err)
		case !c.precondition.holds(standing.Found, standing.Version):
			return standing, unmet(standing.Found, standing.Version)
		}
		pin := op.Cond{Kind: op.CondAbsent}
		if standing.Found {
			pin = op.Cond{Kind: op.CondVersion, Version: standing.Version}
		}
		res := write(pin)
		moved := res.Err == nil && res.Unmet && (res.Found != standing.Found || res.Version != standing.Version)
		switch {
		case res.Err != nil:
			return res, failure(res.Err)
		case !moved:
			return res, nil
		}
		standing = res
	}
	return standing, failure(op.Unavailable("others write the key all the time"))
}
