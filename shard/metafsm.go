package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// metaGroup is the id of the group that owns the cluster map.
const metaGroup = 0

// metaCommand is an entry of the meta group's log: one change of the cluster map,
// or none, with which a leader begins its term.
type metaCommand struct {
	Init    *placement.Map  `codec:"init,omitempty"`
	Node    *placement.Node `codec:"node,omitempty"`
	Setting *setting        `codec:"setting,omitempty"`
	Prefer  *preference     `codec:"prefer,omitempty"`
}

type setting struct {
	Name  string `codec:"name"`
	Value string `codec:"value"`
}

type preference struct {
	Group uint64 `codec:"group"`
	Node  string `codec:"node"`
}

// apply returns the map after c.
func (c metaCommand) apply(m placement.Map) (placement.Map, error) {
	if c.Init != nil && m.Epoch == 0 {
		if err := c.Init.Check(); err != nil {
			return m, err
		}
		m = *c.Init
	}
	if m.Epoch == 0 {
		return m, nil
	}
	var err error
	if c.Node != nil {
		m = m.WithNode(*c.Node)
		if err := m.Check(); err != nil {
			return m, err
		}
	}
	if c.Setting != nil {
		if m, err = m.WithSetting(c.Setting.Name, c.Setting.Value); err != nil {
			return m, err
		}
	}
	if c.Prefer != nil {
		m, err = m.WithPreferred(c.Prefer.Group, c.Prefer.Node)
	}
	return m, err
}

// metaFSM is the meta group's state machine: the cluster map.
type metaFSM struct {
	changed func(placement.Map) // called with each new map, from Apply

	mu      sync.Mutex
	moved   *sync.Cond
	current placement.Map
	applied uint64
}

func newMetaFSM(changed func(placement.Map)) *metaFSM {
	f := &metaFSM{changed: changed}
	f.moved = sync.NewCond(&f.mu)
	return f
}

// ApplyBatch answers each command with a proposal.
func (f *metaFSM) ApplyBatch(logs []*raft.Log) []any {
	out := make([]any, len(logs))
	for i, l := range logs {
		out[i] = f.Apply(l)
	}
	return out
}

// Apply carries out one command. One that cannot be decoded is refused on every
// replica alike.
func (f *metaFSM) Apply(l *raft.Log) any {
	var p proposal
	next := f.Map()
	epoch := next.Epoch
	if l.Type == raft.LogCommand {
		var c metaCommand
		err := op.DecodeDetail(l.Data, &c)
		if err == nil {
			next, err = c.apply(next)
		}
		if err != nil {
			p = failedProposal(refusal(err))
			next.Epoch = epoch
		}
	}
	p.Epoch = next.Epoch
	f.set(next, l.Index, next.Epoch != epoch)
	return p
}

// refusal is what a caller is told of a command that the map does not allow.
func refusal(err error) *op.Error {
	var field *placement.FieldError
	if errors.As(err, &field) {
		return &op.Error{Kind: op.KindInvalid, Field: field.Field, Message: field.Message}
	}
	return op.Invalid("command", "%v", err)
}

func (f *metaFSM) set(m placement.Map, index uint64, changed bool) {
	f.mu.Lock()
	if changed {
		f.current = m
	}
	f.applied = index
	f.moved.Broadcast()
	f.mu.Unlock()
	if changed {
		f.changed(m)
	}
}

// Map returns the cluster map; its epoch is 0 before there is one.
func (f *metaFSM) Map() placement.Map {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// Applied returns the last index that the map shows.
func (f *metaFSM) Applied() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applied
}

// Wait returns when the map shows index, or with ctx's error.
func (f *metaFSM) Wait(ctx context.Context, index uint64) error {
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.moved.Broadcast()
	})
	defer stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.applied < index && ctx.Err() == nil {
		f.moved.Wait()
	}
	if f.applied < index {
		return ctx.Err()
	}
	return nil
}

// A snapshot of the map: magic, applied index, length, the encoded map, CRC32C of
// all before.
const (
	metaMagic       = "RRMETA01"
	metaHeader      = len(metaMagic) + 8 + 4
	metaMaxSnapshot = 64 << 20
)

type metaSnapshot []byte

// Snapshot encodes the map at once: it is small.
func (f *metaFSM) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body := op.EncodeDetail(f.current)
	b := append([]byte(nil), metaMagic...)
	b = binary.BigEndian.AppendUint64(b, f.applied)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	return metaSnapshot(binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s metaSnapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		return fmt.Errorf("write the map's snapshot: %w", err)
	}
	return sink.Close()
}

func (s metaSnapshot) Release() {}

// Restore replaces the map by a snapshot's, or leaves it as it is and says why.
func (f *metaFSM) Restore(snapshot io.ReadCloser) error {
	b, err := io.ReadAll(io.LimitReader(snapshot, metaMaxSnapshot+1))
	if err != nil {
		return fmt.Errorf("read the map's snapshot: %w", err)
	}
	m, index, err := decodeMetaSnapshot(b)
	if err != nil {
		return fmt.Errorf("the map's snapshot is damaged: %w", err)
	}
	f.set(m, index, true)
	return nil
}

func decodeMetaSnapshot(b []byte) (m placement.Map, index uint64, err error) {
	if len(b) < metaHeader+4 || len(b) > metaMaxSnapshot || string(b[:len(metaMagic)]) != metaMagic {
		return m, 0, fmt.Errorf("%d bytes without a known beginning", len(b))
	}
	sum := len(b) - 4
	if crc32.Checksum(b[:sum], castagnoli) != binary.BigEndian.Uint32(b[sum:]) {
		return m, 0, fmt.Errorf("wrong checksum")
	}
	index = binary.BigEndian.Uint64(b[len(metaMagic):])
	body := b[metaHeader:sum]
	if uint32(len(body)) != binary.BigEndian.Uint32(b[metaHeader-4:]) {
		return m, 0, fmt.Errorf("wrong length")
	}
	if err := op.DecodeDetail(body, &m); err != nil {
		return m, 0, err
	}
	if m.Epoch == 0 {
		return m, index, nil
	}
	return m, index, m.Check()
}
