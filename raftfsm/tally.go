package raftfsm

import (
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/lru"
)

// tally counts again, from blocks, what a state counts as it changes.
type tally struct {
	slots, records uint64
	bytes          int64
	sum            uint64 // the digest but for the group's term, the sessions' and the transactions'
	last           uint16 // slot

	sessions     uint64
	sessionBytes int64
	sessionSum   uint64
	lastSession  uint64

	txns     uint64
	txnBytes int64
	txnSum   uint64
	lastTxn  string // key
}

// slot adds a block's head. Slots come in ascending order.
func (t *tally) slot(b *block) error {
	if t.slots > 0 && b.slot <= t.last {
		return fmt.Errorf("slot %d follows slot %d", b.slot, t.last)
	}
	if b.version == 0 {
		return errors.New("a slot that was never written has a block")
	}
	t.slots++
	t.last = b.slot
	t.sum += slotTerm(b.slot, b.version)
	return nil
}

// record adds the record that the block stands at.
func (t *tally) record(b *block) {
	t.records++
	t.bytes += lru.Cost(len(b.key), len(b.item.Value))
	t.sum += itemTerms(b.slot, xxhash.Sum64(b.key), b.item)
}

// block adds a whole block.
func (t *tally) block(encoded []byte) error {
	b, err := openBlock(encoded)
	if err != nil {
		return err
	}
	if err := t.slot(b); err != nil {
		return err
	}
	for b.next() {
		t.record(b)
	}
	return b.err
}

// session adds a session block and returns what it holds.
func (t *tally) session(encoded []byte) (*session, error) {
	x, err := decodeSession(encoded)
	if err != nil {
		return nil, err
	}
	if x.id <= t.lastSession {
		return nil, fmt.Errorf("session %d follows session %d", x.id, t.lastSession)
	}
	t.lastSession = x.id
	t.sessions++
	t.sessionBytes += x.bytes
	t.sessionSum += x.sum
	return x, nil
}

// txn adds the block of a transaction's record, whose memory the record takes over.
func (t *tally) txn(block []byte) (*txnRecord, error) {
	r, err := decodeTxn(block)
	if err != nil {
		return nil, err
	}
	if r.key <= t.lastTxn {
		return nil, fmt.Errorf("transaction %x follows %x", r.key, t.lastTxn)
	}
	t.lastTxn = r.key
	t.txns++
	t.txnBytes += r.bytes
	t.txnSum += r.term()
	return r, nil
}

// digest is that of the state with the header h and the blocks counted.
func (t *tally) digest(h header) uint64 {
	return t.sum + t.sessionSum + t.txnSum + groupTerm(h.settings(), h.Time, h.Stamp, h.Opened)
}

// verify compares a count of blocks with the header of the state they come from and
// that state's digest. With blocks just written, a difference means that memory was
// damaged or that the incremental digest is wrong.
func (h header) verify(count tally, digest uint64) error {
	if count.slots != h.Slots || count.records != h.Records || count.bytes != h.Bytes {
		return fmt.Errorf("the blocks hold %d slots, %d records, %d bytes; the header says %d, %d, %d",
			count.slots, count.records, count.bytes, h.Slots, h.Records, h.Bytes)
	}
	if count.sessions != h.Sessions || count.sessionBytes != h.SessionBytes {
		return fmt.Errorf("the blocks hold %d sessions, of %d bytes; the header says %d, of %d",
			count.sessions, count.sessionBytes, h.Sessions, h.SessionBytes)
	}
	if count.txns != h.Txns || count.txnBytes != h.TxnBytes {
		return fmt.Errorf("the blocks hold %d transactions, of %d bytes; the header says %d, of %d",
			count.txns, count.txnBytes, h.Txns, h.TxnBytes)
	}
	if sum := count.digest(h); sum != digest {
		return fmt.Errorf("the blocks have digest %016x, the state had %016x", sum, digest)
	}
	return nil
}
