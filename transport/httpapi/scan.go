package httpapi

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

const (
	// defaultPage is how many keys a page has for which nothing else is asked.
	defaultPage = 100
	// pageBytes is how many bytes of keys and values end a page before its limit.
	pageBytes = 1 << 20
)

// pageDocument is a page of keys, and the cursor of the next one, if there is one.
type pageDocument struct {
	Items []scannedDocument `json:"items"`
	Next  string            `json:"next,omitempty"`
}

type scannedDocument struct {
	document.KeyField
	document.ValueField        // empty: only the key was asked for, or nothing is there
	Version             uint64 `json:"version"`
	TTL                 *int64 `json:"ttl_ms,omitempty"`
}

// scan reads a page. The cursor is all that goes on from one to the next, so any node
// can serve the next one, and a change of leaders loses nothing.
func (c *call) scan() (answer, *problem) {
	limit, values, p := c.pageOf()
	if p != nil {
		return answer{}, p
	}
	at, last, p := c.scanRange()
	if p != nil {
		return answer{}, p
	}
	page := pageDocument{Items: []scannedDocument{}}
	// A page that is late is sent as far as it got.
	enough := time.Now().Add(c.server.cfg.RequestTimeout / 2)
	for size := 0; len(at) > 0 && len(page.Items) < limit && size < pageBytes && time.Now().Before(enough); {
		first, _, _ := op.SplitCursor(at)
		end := c.run(first, last)
		res := c.read(op.Scan{Prefix: []byte(c.query.Get("prefix")), Cursor: at, Last: end, Limit: limit - len(page.Items), Values: values})
		if res.Err != nil {
			return answer{}, failure(res.Err)
		}
		size += res.Payload()
		for _, it := range res.Items {
			page.Items = append(page.Items, newScanned(it, values))
		}
		switch {
		case len(res.Next) > 0:
			at = res.Next
		case end == last:
			at = nil
		default:
			at = op.ScanCursor(end+1, nil)
		}
	}
	page.Next = base64.RawURLEncoding.EncodeToString(at)
	return jsonAnswer(http.StatusOK, page), nil
}

func newScanned(it op.Item, values bool) scannedDocument {
	doc := scannedDocument{KeyField: document.NewKey(it.Key), Version: it.Version, TTL: milliseconds(it.TTL)}
	if values {
		doc.ValueField = document.NewValue(it.Value)
	}
	return doc
}

// pageOf returns how many keys the page may have, and whether with values.
func (c *call) pageOf() (limit int, values bool, p *problem) {
	limit = defaultPage
	if text := c.query.Get("limit"); c.query.Has("limit") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > op.MaxKeys {
			return 0, false, badRequest("limit", "is %.64q; it lies between 1 and %d", text, op.MaxKeys)
		}
		limit = n
	}
	values, p = c.flag("values")
	return limit, values, p
}

// scanRange returns the cursor to go on from, and the last slot. Keys with a prefix that
// holds a whole hash tag are all in the tag's slot.
func (c *call) scanRange() (at []byte, last uint16, p *problem) {
	prefix, cursor := c.query.Get("prefix"), c.query.Get("cursor")
	if len(prefix) > op.MaxKey {
		return nil, 0, badRequest("prefix", "has %d bytes; the limit is %d", len(prefix), op.MaxKey)
	}
	first, last := uint16(0), uint16(op.Slots-1)
	if _, tag, open := strings.Cut(prefix, "{"); open && strings.IndexByte(tag, '}') > 0 {
		first = op.SlotOf([]byte(prefix))
		last = first
	}
	if cursor == "" {
		return op.ScanCursor(first, nil), last, nil
	}
	at, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, 0, badRequest("cursor", "is none that a page has named")
	}
	slot, _, invalid := op.SplitCursor(at)
	if invalid != nil || slot < first || slot > last {
		return nil, 0, badRequest("cursor", "is none of a scan with this prefix")
	}
	return at, last, nil
}

// run returns the last slot, up to last, of those from first on that one group owns.
func (c *call) run(first, last uint16) uint16 {
	group := c.server.cfg.Node.Group(first)
	for first < last && c.server.cfg.Node.Group(first+1) == group {
		first++
	}
	return first
}
