package httpapi

import (
	"net/http"
	"sync"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

// keysDocument is the body of a batch of reads or removals.
type keysDocument struct {
	Keys       []string `json:"keys"`
	KeysBase64 [][]byte `json:"keys_base64"`
}

// keys returns the keys of both lists, up to most.
func (d keysDocument) keys(most int) ([][]byte, *problem) {
	if n := len(d.Keys) + len(d.KeysBase64); n == 0 || n > most {
		return nil, invalid("keys", "there are %d; one request takes 1 to %d", n, most)
	}
	keys := make([][]byte, 0, len(d.Keys)+len(d.KeysBase64))
	for _, key := range d.Keys {
		keys = append(keys, []byte(key))
	}
	return append(keys, d.KeysBase64...), nil
}

// itemDocument is a key and what stands there.
type itemDocument struct {
	document.KeyField
	Found               bool   `json:"found"`
	document.ValueField        // empty: only the key was asked for, or nothing is there
	Version             uint64 `json:"version,omitempty"`
	TTL                 *int64 `json:"ttl_ms,omitempty"`
}

func newItemDocument(it op.Item, valueToo bool) itemDocument {
	doc := itemDocument{KeyField: document.NewKey(it.Key), Found: it.Found, Version: it.Version, TTL: milliseconds(it.TTL)}
	if it.Found && valueToo {
		doc.ValueField = document.NewValue(it.Value)
	}
	return doc
}

type itemsDocument struct {
	Items []itemDocument `json:"items"`
}

// maxParallel is how many groups a batch of reads asks at once.
const maxParallel = 8

// getMany reads keys, group by group.
func (c *call) getMany() (answer, *problem) {
	var doc keysDocument
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	keys, p := doc.keys(op.MaxKeys)
	if p != nil {
		return answer{}, p
	}
	items := make([]itemDocument, len(keys))
	size := 0
	parts := c.byGroup(keys)
	for len(parts) > 0 {
		now := parts[:min(maxParallel, len(parts))]
		parts = parts[len(now):]
		for i, res := range c.readAll(keys, now) {
			if res.Err != nil {
				return answer{}, failure(res.Err)
			}
			if size += res.Payload(); size > op.MaxPayload {
				return answer{}, invalid("keys", "their values exceed the %d bytes of one answer; ask for fewer keys", op.MaxPayload)
			}
			for j, place := range now[i] {
				items[place] = newItemDocument(res.Items[j], true)
			}
		}
	}
	return jsonAnswer(http.StatusOK, itemsDocument{items}), nil
}

// byGroup returns the places of keys, those of each group together.
func (c *call) byGroup(keys [][]byte) (parts [][]int) {
	part := map[uint64]int{}
	for i, key := range keys {
		group := c.server.cfg.Node.Group(op.SlotOf(key))
		p, known := part[group]
		if !known {
			p = len(parts)
			part[group] = p
			parts = append(parts, nil)
		}
		parts[p] = append(parts[p], i)
	}
	return parts
}

// readAll reads the keys at the places of each part, all parts at once.
func (c *call) readAll(keys [][]byte, parts [][]int) []op.Result {
	results := make([]op.Result, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		var o op.MGet
		for _, place := range part {
			o.Keys = append(o.Keys, keys[place])
		}
		bound := c.bound(o.Slot(0))
		wg.Go(func() {
			results[i] = c.server.cfg.Node.Do(c.ctx, op.Request{Op: o, Level: c.reads.level, Bound: bound})
		})
	}
	wg.Wait()
	for i, part := range parts {
		c.seen.note(c.server.cfg.Node.Group(op.SlotOf(keys[part[0]])), results[i].Index)
	}
	return results
}

// pairsDocument is the body of a batch of writes.
type pairsDocument struct {
	Items []document.Pair `json:"items"`
}

type versionsDocument struct {
	Items []writtenDocument `json:"items"`
}

// writtenDocument is a key that was written.
type writtenDocument struct {
	document.KeyField
	Version uint64 `json:"version,omitempty"`
	Found   bool   `json:"found"` // there was something before
}

// setMany puts values in one transaction.
func (c *call) setMany() (answer, *problem) {
	var doc pairsDocument
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	var txn op.Txn
	for _, d := range doc.Items {
		o, err := d.Op()
		if err != nil {
			return answer{}, failure(err)
		}
		txn.Then = append(txn.Then, o)
	}
	written, p := c.changeMany("items", txn)
	if p != nil {
		return answer{}, p
	}
	return jsonAnswer(http.StatusOK, versionsDocument{written}), nil
}

type deletedDocument struct {
	Deleted int               `json:"deleted"` // keys that were there
	Items   []writtenDocument `json:"items"`
}

// deleteMany removes keys in one transaction.
func (c *call) deleteMany() (answer, *problem) {
	var doc keysDocument
	if p := c.document(&doc); p != nil {
		return answer{}, p
	}
	keys, p := doc.keys(op.MaxTxnOps)
	if p != nil {
		return answer{}, p
	}
	var txn op.Txn
	for _, key := range keys {
		txn.Then = append(txn.Then, op.Delete{Key: key})
	}
	written, p := c.changeMany("keys", txn)
	if p != nil {
		return answer{}, p
	}
	deleted := deletedDocument{Items: written}
	for _, w := range written {
		if w.Found {
			deleted.Deleted++
		}
	}
	return jsonAnswer(http.StatusOK, deleted), nil
}

// changeMany does a transaction of writes alone. It returns what became of each.
func (c *call) changeMany(list string, txn op.Txn) ([]writtenDocument, *problem) {
	if len(txn.Then) == 0 || len(txn.Then) > op.MaxTxnOps {
		return nil, invalid(list, "there are %d; one request takes 1 to %d", len(txn.Then), op.MaxTxnOps)
	}
	res := c.changeAll(txn)
	if res.Err != nil {
		return nil, failure(res.Err)
	}
	written := make([]writtenDocument, len(txn.Then))
	for i, o := range txn.Then {
		written[i].KeyField = document.NewKey(op.Keys(o)[0])
		if i < len(res.Results) {
			written[i].Version, written[i].Found = res.Results[i].Version, res.Results[i].Found
		}
	}
	return written, nil
}
