package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object of the OpenAPI document.
type object map[string]any

// describe returns the OpenAPI 3.1 document of the resources.
func describe(all []resource) []byte {
	paths := object{}
	for _, r := range all {
		methods := object{}
		for _, a := range r.actions {
			methods[strings.ToLower(a.method)] = a.describe(r.keyed)
		}
		paths[r.path] = methods
	}
	b, err := json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Ringraft", "version": "1",
			"description": "Any node serves any key. A key is all of the path, percent-decoded once, byte for byte; one that starts with -/ is at /-/kv/. An ETag is a version.",
		},
		"paths":      paths,
		"components": object{"schemas": schemas()},
	})
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return append(b, '\n')
}

// describe answers with the OpenAPI document.
func (c *call) describe() (answer, *problem) {
	return answer{status: http.StatusOK, body: c.server.openapi}, nil
}

func (a *action) describe(keyed bool) object {
	var parameters []object
	if keyed {
		parameters = append(parameters, object{"name": "key", "in": "path", "required": true, "description": "any bytes, percent-encoded", "schema": object{"type": "string"}})
	}
	for _, p := range a.query {
		parameters = append(parameters, p.describe("query"))
	}
	for _, p := range a.headers {
		parameters = append(parameters, p.describe("header"))
	}
	o := object{"operationId": a.id, "summary": a.summary, "responses": a.responses()}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	switch a.takes {
	case "":
	case bytesType:
		o["requestBody"] = object{"required": true, "content": object{"*/*": object{}}}
	default:
		o["requestBody"] = object{"required": true, "content": object{jsonType: object{"schema": reference(a.takes)}}}
	}
	return o
}

func (p parameter) describe(in string) object {
	return object{"name": p.name, "in": in, "description": p.doc, "schema": object{"type": "string"}}
}

func (a *action) responses() object {
	responses := object{}
	for _, status := range a.all() {
		response := object{"description": http.StatusText(status)}
		switch {
		case status >= 400:
			response["content"] = object{problemType: object{"schema": reference("Problem")}}
		case status == http.StatusNotModified || a.gives == "":
		case a.raw:
			response["content"] = object{jsonType: object{"schema": reference(a.gives)}, "*/*": object{}}
		default:
			response["content"] = object{jsonType: object{"schema": reference(a.gives)}}
		}
		responses[strconv.Itoa(status)] = response
	}
	return responses
}

// all returns the statuses that the action may answer.
func (a *action) all() []int {
	all := slices.Concat(a.statuses, common)
	if a.method != http.MethodGet && a.method != http.MethodHead {
		all = append(all, http.StatusForbidden)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func reference(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }
