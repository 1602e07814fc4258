package client

import (
	"context"
	"encoding/base64"
	"errors"
	"iter"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// Entry is a key that a scan found. Without WithValues, Value has no Bytes.
type Entry struct {
	Key string
	Value
}

// pageBytes is the size of a page's keys and values past which it is not filled up.
const pageBytes = 1 << 20

// Scan ranges over the keys that start with prefix, in no order that means
// anything. A key that is there from the scan's start to its end is found once;
// one that comes or goes may be. At the level Local that holds for what the
// replicas asked have seen. An error is the last element. The scan lives through
// failovers and changes of the cluster map; ctx bounds it as a whole.
func (c *Client) Scan(ctx context.Context, prefix string, opts ...ReadOption) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for cursor := ""; ; {
			page, next, err := c.ScanPage(ctx, prefix, cursor, op.MaxKeys, opts...)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// ScanPage returns up to limit keys, 1 to op.MaxKeys, that start with prefix, and
// the cursor to go on with, which holds for any client of the cluster. A cursor is
// text; "" is both the start and the end. A page may have fewer keys than limit
// before the end.
func (c *Client) ScanPage(ctx context.Context, prefix, cursor string, limit int, opts ...ReadOption) (page []Entry, next string, err error) {
	at, end, err := scanRange(prefix, cursor)
	if err != nil {
		return nil, "", err
	}
	o := newReadOptions(opts)
	size := 0
	for len(page) < limit || limit < 1 {
		res, last, err := c.scanRun(ctx, op.Scan{
			Prefix: []byte(prefix), Cursor: at, Last: end, Limit: limit - len(page), Values: o.values,
		}, o.level)
		if err != nil {
			return nil, "", err
		}
		for _, it := range res.Items {
			size += len(it.Key) + len(it.Value)
			page = append(page, Entry{string(it.Key), Value{Bytes: it.Value, Version: it.Version, TTL: duration(it.TTL)}})
		}
		switch {
		case len(res.Next) > 0:
			at = res.Next
		case last >= end:
			return page, "", nil
		default:
			at = op.ScanCursor(last+1, nil)
		}
		if size > pageBytes {
			break
		}
	}
	return page, base64.RawURLEncoding.EncodeToString(at), nil
}

// scanRun scans from the cursor to the end of the run of slots of one group, or
// to scan.Last if that comes first. It returns the slot that it ended with.
func (c *Client) scanRun(ctx context.Context, scan op.Scan, level Level) (op.Result, uint16, error) {
	first, _, invalid := op.SplitCursor(scan.Cursor)
	if invalid != nil {
		return op.Result{}, 0, invalid
	}
	end := scan.Last
	for {
		scan.Last = min(end, c.table.Load().cluster.Run(first))
		res, err := c.do(ctx, scan, level)
		if !errors.Is(err, errSplit) {
			return res, scan.Last, err
		}
	}
}

// scanRange returns the cursor to begin with and the last slot. The keys of a
// prefix that holds a whole hash tag are all in the tag's slot.
func scanRange(prefix, cursor string) (at []byte, end uint16, err error) {
	first, end := uint16(0), uint16(op.Slots-1)
	if holdsHashTag(prefix) {
		first = op.SlotOf([]byte(prefix))
		end = first
	}
	if cursor == "" {
		return op.ScanCursor(first, nil), end, nil
	}
	at, err = base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, 0, op.Invalid("cursor", "%q is none that a scan returned", cursor)
	}
	slot, _, invalid := op.SplitCursor(at)
	switch {
	case invalid != nil:
		return nil, 0, invalid
	case slot < first || slot > end:
		return nil, 0, op.Invalid("cursor", "is none of a scan with this prefix")
	}
	return at, end, nil
}

func holdsHashTag(prefix string) bool {
	_, tag, open := strings.Cut(prefix, "{")
	return open && strings.IndexByte(tag, '}') > 0
}
