package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// resource is one kind of path, and the methods that it has.
type resource struct {
	path    string // as OpenAPI writes it
	prefix  string // of the decoded path without its first slash; what follows is the key
	keyed   bool
	actions []action
}

// action is what a method does with a resource.
type action struct {
	method  string
	id      string // of the operation in the OpenAPI document
	summary string
	query   []parameter
	headers []parameter
	takes   string // the schema of the JSON body, bytesType for any bytes, "" for none
	gives   string // the schema of the JSON answer, "" for none
	raw     bool   // the answer can be the value's bytes, too
	writes  bool   // it takes an idempotency key
	// statuses are those that it answers, besides what every action may: see common.
	statuses []int
	serve    func(*call) (answer, *problem)
}

// common are the statuses that every action may answer; one that writes, 403 too.
var common = []int{http.StatusBadRequest, http.StatusTooManyRequests}

// parameter is a parameter of the query, or a header.
type parameter struct {
	name string
	doc  string
}

// resources returns the table of all there is.
func resources() []resource {
	return []resource{
		{path: "/-/openapi.json", prefix: "-/openapi.json", actions: []action{
			{method: http.MethodGet, id: "describe", summary: "This document.", gives: "Document", statuses: []int{200}, serve: (*call).describe},
		}},
		{path: "/-/get", prefix: "-/get", actions: []action{
			{
				method: http.MethodPost, id: "getMany", summary: "Read several keys: those of one group at one instant.",
				query: readParameters(), headers: readHeaders(), takes: "Keys", gives: "Items",
				statuses: []int{200, 413, 415, 422, 500, 503}, serve: (*call).getMany,
			},
		}},
		{path: "/-/set", prefix: "-/set", actions: []action{
			{
				method: http.MethodPost, id: "setMany", summary: "Put several values, all or none of them.",
				headers: writeHeaders(), writes: true, takes: "Pairs", gives: "Versions",
				statuses: writeStatuses(200), serve: (*call).setMany,
			},
		}},
		{path: "/-/delete", prefix: "-/delete", actions: []action{
			{
				method: http.MethodPost, id: "deleteMany", summary: "Remove several keys, all or none of them.",
				headers: writeHeaders(), writes: true, takes: "Keys", gives: "Deleted",
				statuses: writeStatuses(200), serve: (*call).deleteMany,
			},
		}},
		{path: "/-/transactions", prefix: "-/transactions", actions: []action{
			{
				method: http.MethodPost, id: "transact", summary: "Compare and change several keys in one step.",
				headers: writeHeaders(), writes: true, takes: "Transaction", gives: "Outcome",
				statuses: writeStatuses(200), serve: (*call).transact,
			},
		}},
		{path: "/-/scan", prefix: "-/scan", actions: []action{
			{
				method: http.MethodGet, id: "scan", summary: "A page of the keys with a prefix, in no order that means something.",
				query: append(readParameters(), parameter{"prefix", "of the keys"}, parameter{"cursor", "the next of the page before"},
					parameter{"limit", "keys in the page, 1 to 1000; without it 100"}, parameter{"values", "true: with the values"}),
				headers: readHeaders(), gives: "Page", statuses: []int{200, 500, 503}, serve: (*call).scan,
			},
		}},
		{path: "/-/counters/{key}", prefix: "-/counters/", keyed: true, actions: []action{
			{
				method: http.MethodPost, id: "add", summary: "Add to the integer at a key, which counts as 0 if it is missing.",
				headers: conditionalHeaders(writeHeaders()), writes: true, takes: "Addition", gives: "Number",
				statuses: writeStatuses(200, 412, 414), serve: (*call).add,
			},
		}},
		{path: "/-/kv/{key}", prefix: "-/kv/", keyed: true, actions: keyActions("Reserved")},
		{path: "/{key}", keyed: true, actions: keyActions("")},
	}
}

// keyActions are what can be done with a key. The suffix tells their ids apart.
func keyActions(suffix string) []action {
	get := action{
		method: http.MethodGet, id: "get" + suffix, summary: "Read a key.",
		query: readParameters(), headers: append(conditionalHeaders(readHeaders()), parameter{"Accept", "application/octet-stream: the value's bytes, with the media type that they came with"}),
		gives: "Value", raw: true, statuses: []int{200, 304, 404, 412, 414, 500, 503}, serve: (*call).get,
	}
	head := get
	head.method, head.id, head.summary = http.MethodHead, "head"+suffix, "Read a key, without its value."
	return []action{
		get, head,
		{
			method: http.MethodPost, id: "set" + suffix, summary: "Put a value, given in JSON.",
			headers: conditionalHeaders(writeHeaders()), writes: true, takes: "Set", gives: "Version",
			statuses: writeStatuses(200, 201, 412, 414), serve: (*call).set,
		},
		{
			method: http.MethodPut, id: "put" + suffix, summary: "Put a value, given as it is; its media type is kept.",
			query: []parameter{
				{"ttl", "how long it lives, as 30s or 1h30m; without it for ever"}, {"keep_ttl", "true: as long as the value that it replaces"},
				{"protect", "true: it is never evicted"},
			},
			headers: conditionalHeaders(writeHeaders()), writes: true, takes: bytesType, gives: "Version",
			statuses: writeStatuses(200, 201, 412, 414), serve: (*call).put,
		},
		{
			method: http.MethodDelete, id: "delete" + suffix, summary: "Remove a key.",
			headers: conditionalHeaders(writeHeaders()), writes: true,
			statuses: []int{204, 404, 409, 412, 414, 422, 500, 503, 504, 507}, serve: (*call).delete,
		},
	}
}

func readParameters() []parameter {
	return []parameter{{"read", "how old the answer may be: linearizable, session, bounded=AGE or local. Without it session if a token is given, else linearizable"}}
}

func readHeaders() []parameter {
	return []parameter{{levelHeader, "as the parameter read"}, sessionParameter()}
}

func writeHeaders() []parameter {
	return []parameter{
		sessionParameter(), {keyHeader, "a name for this request, under which it is done once"},
		{expiresHeader, "how long the name is remembered, as 1h; without it 24h"},
	}
}

func sessionParameter() parameter {
	return parameter{sessionHeader, "what the caller has seen: the header of this name of an earlier answer"}
}

func conditionalHeaders(headers []parameter) []parameter {
	return append(headers, parameter{"If-Match", "entity tags, one of which the key must have; or *"},
		parameter{"If-None-Match", "entity tags, none of which the key may have; or *"})
}

// writeStatuses are the statuses of a write with a body, and those given.
func writeStatuses(more ...int) []int {
	all := append(more, 409, 413, 415, 422, 500, 503, 504, 507)
	slices.Sort(all)
	return all
}

// find returns the resource of a decoded path without its first slash, and the key in
// it. What starts with -/ is the front's own, also where it came percent-encoded.
func find(all []resource, path string) (r *resource, key string) {
	own := strings.HasPrefix(path, "-/")
	for i := range all {
		r := &all[i]
		rest, ok := strings.CutPrefix(path, r.prefix)
		if ok && (r.prefix != "") == own && (r.keyed || rest == "") {
			return r, rest
		}
	}
	return nil, ""
}

func (r *resource) action(method string) *action {
	for i := range r.actions {
		if r.actions[i].method == method {
			return &r.actions[i]
		}
	}
	return nil
}

// allow returns the methods, as the header Allow lists them.
func (r *resource) allow() string {
	var methods []string
	for _, a := range r.actions {
		methods = append(methods, a.method)
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}
