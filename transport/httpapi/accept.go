package httpapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringraft/ringraft/internal/media"
)

const (
	jsonType  = "application/json"
	bytesType = media.Bytes
)

// wantsBytes reports whether the client would rather have a value's bytes than JSON: it
// says so of octet-stream, or does not take JSON at all. In doubt it is JSON.
func wantsBytes(h http.Header) bool {
	lines := h.Values("Accept")
	if len(lines) == 0 {
		return false
	}
	list := strings.Join(lines, ",")
	asJSON, byWildcard := quality(list, jsonType)
	asBytes, bytesByWildcard := quality(list, bytesType)
	switch {
	case asJSON == 0:
		return true
	case asBytes != asJSON:
		return asBytes > asJSON
	}
	return byWildcard && !bytesByWildcard
}

// quality returns the weight, in thousandths, that an Accept list gives a media type
// (RFC 9110, 12.5.1), and whether no element names the type itself. Elements that cannot
// be read count for nothing.
func quality(list, mediaType string) (q int, byWildcard bool) {
	kind, _, _ := strings.Cut(mediaType, "/")
	precision := 0
	for element := range strings.SplitSeq(list, ",") {
		name, params, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		p := 0
		switch name {
		case "*/*":
			p = 1
		case kind + "/*":
			p = 2
		case mediaType:
			p = 3
		}
		if p > precision {
			precision, q = p, weight(params)
		}
	}
	return q, precision != 3
}

func weight(params map[string]string) int {
	text, given := params["q"]
	if !given {
		return 1000
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return int(q * 1000)
}
