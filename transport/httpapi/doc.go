// Package httpapi serves a node over HTTP. It translates requests into operations and
// their results into answers, and holds no logic of its own: a request of any node is
// answered as if it had come to the right one.
//
// A path is a key, percent-decoded once and taken byte for byte; what begins with /-/
// is the front's own. One table, resources, lists all there is: the server routes by it,
// answers OPTIONS and 405 from it, and describes itself with it in /-/openapi.json.
package httpapi
