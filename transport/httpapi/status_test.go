package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// bodies are a good body of each action that takes one, by its id.
var bodies = map[string]string{
	"getMany": `{"keys":["k"]}`, "setMany": `{"items":[{"key":"k","value":"v"}]}`, "deleteMany": `{"keys":["k"]}`,
	"transact": `{"then":[{"set":{"key":"k","value":"v"}}]}`, "add": `{}`, "set": `{"value":"v"}`, "put": "v",
}

// TestEveryListedStatusIsAnswered brings each action to each status that the table, and
// so the OpenAPI document, lists for it. That no other one is answered is checked by all
// tests, see checkListed.
func TestEveryListedStatusIsAnswered(t *testing.T) {
	t.Parallel()
	for _, r := range resources() {
		for _, a := range r.actions {
			for _, status := range a.all() {
				t.Run(fmt.Sprintf("%s %s %d", a.method, r.path, status), func(t *testing.T) {
					t.Parallel()
					provoke(t, r, a, status)
				})
			}
		}
	}
}

// failing are the faults of the cluster that lead to a status.
var failing = map[int]op.Error{
	409: {Kind: op.KindConflict, Message: "no number"},
	500: {Kind: 99, Message: "from a newer node"},
	503: {Kind: op.KindUnavailable, Message: "no leader"},
	504: {Kind: op.KindUnknown, Message: "no answer"},
	507: {Kind: op.KindOutOfMemory, Message: "full"},
}

func provoke(t *testing.T, r resource, a action, status int) {
	f := startFront(t, Config{MaxBody: 4096, RequestTimeout: 100 * time.Millisecond})
	target := strings.Replace(r.path, "{key}", "k", 1)
	body := bodies[strings.TrimSuffix(a.id, "Reserved")]
	var headers []string
	found := status != 201 && status != 404
	if found && r.keyed {
		f.put("k", "7", 0)
	}
	switch status {
	case 400:
		target += "?nonsense=1"
	case 403:
		headers = append(headers, "Origin: https://elsewhere.example", "Sec-Fetch-Site: cross-site")
	case 304:
		headers = append(headers, "If-None-Match: *")
	case 412:
		headers = append(headers, `If-Match: "4711"`)
	case 413:
		body = strings.Repeat(" ", 5000)
	case 414:
		target += strings.Repeat("k", op.MaxKey)
	case 415:
		headers = append(headers, "Content-Encoding: gzip")
	case 422:
		if a.takes == "" {
			headers = append(headers, "Idempotency-Key: used")
			f.send("PUT", "/other", "v", headers...)
		}
		if a.takes == bytesType {
			target += "?keep_ttl=true&ttl=1s"
		}
		body = `{"nonsense":1}`
	case 429:
		for range cap(f.server.slots) {
			f.server.slots <- struct{}{}
		}
		defer func() {
			for range cap(f.server.slots) {
				<-f.server.slots
			}
		}()
	case 409, 500, 503, 504, 507:
		fault := failing[status]
		f.cluster.Intercept(func(string, op.Request) *fakenode.Fault { return &fakenode.Fault{Err: &fault} })
	}
	got := f.send(a.method, target, body, headers...)
	if got.status != status {
		t.Fatalf("status %d, %s", got.status, got.body)
	}
	later := status == 429 || status == 503
	if (got.header.Get("Retry-After") != "") != later {
		t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
	}
	if problem := got.header.Get("Content-Type") == problemType; problem != (status >= 400) {
		t.Errorf("Content-Type %q", got.header.Get("Content-Type"))
	}
}

func TestEveryKindOfErrorHasAStatus(t *testing.T) {
	t.Parallel()
	for kind := op.KindInvalid; kind <= op.KindLocked; kind++ {
		if _, known := failures[kind]; !known {
			t.Errorf("kind %d is not in the table", kind)
		}
	}
}

func TestOpenAPIDescribesTheTable(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	r := f.send("GET", "/-/openapi.json", "")
	if r.status != 200 || r.header.Get("Content-Type") != jsonType {
		t.Fatalf("%+v", r)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Responses   map[string]struct{ Description string }
			Parameters  []struct{ Name, In string }
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %q", doc.OpenAPI)
	}
	ids := map[string]bool{}
	count := 0
	for _, r := range resources() {
		for _, a := range r.actions {
			count++
			o, ok := doc.Paths[r.path][strings.ToLower(a.method)]
			if !ok || o.OperationID != a.id || ids[a.id] {
				t.Errorf("%s %s: %+v, ok %v; want the id %s, once", a.method, r.path, o, ok, a.id)
			}
			ids[a.id] = true
			if len(o.Responses) != len(a.all()) {
				t.Errorf("%s: %d responses, want %v", a.id, len(o.Responses), a.all())
			}
		}
	}
	described := 0
	for _, methods := range doc.Paths {
		described += len(methods)
	}
	if described != count {
		t.Errorf("%d methods described, want %d", described, count)
	}
	for _, reference := range strings.Split(r.body, `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(reference, `"`)
		if _, ok := doc.Components.Schemas[name]; !ok {
			t.Errorf("the schema %s is missing", name)
		}
	}
	for name, example := range map[string]any{
		"Set": document.Record{}, "Value": document.ValueField{}, "Version": versionDocument{}, "Keys": keysDocument{}, "Items": itemsDocument{},
		"Pairs": pairsDocument{}, "Versions": versionsDocument{}, "Deleted": deletedDocument{}, "Page": pageDocument{},
		"Addition": document.Add{}, "Number": numberDocument{}, "Transaction": document.Transaction{},
		"Operation": document.Operation{}, "Outcome": outcomeDocument{},
	} {
		wantProperties(t, name, doc.Components.Schemas[name].Properties, reflect.TypeOf(example))
	}
}

// wantProperties compares a schema with the type of the document, and what is in it.
func wantProperties(t *testing.T, name string, properties map[string]any, doc reflect.Type) {
	t.Helper()
	fields := jsonFields(doc)
	var got, want []string
	for property := range properties {
		got = append(got, property)
	}
	for field := range fields {
		want = append(want, field)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: properties %v, fields %v", name, got, want)
	}
	for field, inner := range fields {
		schema, _ := properties[field].(map[string]any)
		if items, ok := schema["items"].(map[string]any); ok {
			schema = items
		}
		if nested, ok := schema["properties"].(map[string]any); ok {
			wantProperties(t, name+"."+field, nested, inner)
		}
	}
}

// jsonFields returns the fields of a struct as JSON has them, with the struct in each.
func jsonFields(doc reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range doc.NumField() {
		f := doc.Field(i)
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if f.Anonymous {
			for name, t := range jsonFields(inner) {
				fields[name] = t
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = inner
	}
	return fields
}

func TestPagesOfOthersMayNotWrite(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	const origin = "Origin: https://elsewhere.example"
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		c.send(method, "/k", `{"value":"v"}`, origin).wantProblem(t, 403, "origin")
	}
	for _, r := range []reply{c.send("OPTIONS", "/k", "", origin, "Access-Control-Request-Method: PUT"), c.send("GET", "/k", "", origin)} {
		for name := range r.header {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s is there, and CORS is off", name)
			}
		}
	}
}

func TestPagesOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{Origins: []string{"https://app.example"}})
	c := f.dial()
	const origin = "Origin: https://app.example"
	r := c.send("OPTIONS", "/k", "", origin, "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: if-match")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "if-match",
	} {
		if got := r.header.Get(name); r.status != 204 || got != want {
			t.Errorf("%s: %q, want %q (status %d)", name, got, want, r.status)
		}
	}
	if r := c.send("PUT", "/k", "v", origin, "Sec-Fetch-Site: cross-site"); r.status != 201 || r.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("%+v", r)
	}
	c.send("PUT", "/k", "v", "Origin: https://elsewhere.example").wantProblem(t, 403, "origin")
	g := startFront(t, Config{Origins: []string{"*"}})
	if r := g.send("PUT", "/k", "v", "Origin: https://elsewhere.example"); r.status != 201 {
		t.Errorf("%+v", r)
	}
	if _, err := newOrigins([]string{"no origin"}); err == nil {
		t.Error("an origin that is none is taken")
	}
}

func TestCommonHeaders(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, target := range []string{"/k", "/-/scan", "/-/openapi.json", "/-/nothing"} {
		r := f.send("GET", target, "")
		if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Content-Length") == "" {
			t.Errorf("%s: %+v", target, r.header)
		}
	}
}
