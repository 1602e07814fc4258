package transport

import "bytes"

// lookalike names the protocol that a connection's first bytes belong to, "" if
// they belong to none that people point at the wrong port.
func lookalike(b []byte) string {
	for _, known := range []struct{ prefix, name string }{
		{"\x16\x03", "a TLS handshake"},
		{"GET ", "an HTTP request"},
		{"HEAD ", "an HTTP request"},
		{"POST ", "an HTTP request"},
		{"PUT ", "an HTTP request"},
		{"DELETE ", "an HTTP request"},
		{"OPTIONS ", "an HTTP request"},
		{"CONNECT ", "an HTTP request"},
		{"PRI * HTTP/2", "an HTTP/2 request"},
		{"*", "a Redis command"},
		{"SSH-", "an SSH client"},
	} {
		if bytes.HasPrefix(b, []byte(known.prefix)) {
			return known.name
		}
	}
	return ""
}
