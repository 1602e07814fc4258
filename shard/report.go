package shard

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/ringraft/ringraft/placement"
)

// A report crosses as: one byte, 1 if the node is gone, else 0; the sequence; the length
// of the node's id, one byte, and the id; then, of a node that is gone, 24 bytes per
// group: its id, last term and last index, groups ascending. Integers are big-endian, of
// eight bytes.
const (
	reportHead   = 1 + 8 + 1
	positionSize = 3 * 8
)

var errReport = errors.New("malformed report of a node")

func (r report) appendTo(b []byte) []byte {
	gone := byte(0)
	if r.gone {
		gone = 1
	}
	b = binary.BigEndian.AppendUint64(append(b, gone), r.sequence)
	b = append(append(b, byte(len(r.node))), r.node...)
	for _, group := range slices.Sorted(maps.Keys(r.positions)) {
		p := r.positions[group]
		b = binary.BigEndian.AppendUint64(b, group)
		b = binary.BigEndian.AppendUint64(b, p.term)
		b = binary.BigEndian.AppendUint64(b, p.index)
	}
	return b
}

// decodeReport accepts what appendTo writes, and nothing else.
func decodeReport(b []byte) (report, error) {
	if len(b) < reportHead || b[0] > 1 {
		return report{}, errReport
	}
	r := report{gone: b[0] == 1, sequence: binary.BigEndian.Uint64(b[1:])}
	size, rest := int(b[reportHead-1]), b[reportHead:]
	if size > len(rest) {
		return report{}, errReport
	}
	r.node, rest = string(rest[:size]), rest[size:]
	if placement.CheckNodeID(r.node) != nil || !r.gone && len(rest) > 0 {
		return report{}, errReport
	}
	var err error
	r.positions, err = decodePositions(rest)
	return r, err
}

func decodePositions(b []byte) (map[uint64]position, error) {
	if len(b)%positionSize != 0 || len(b)/positionSize > placement.MaxGroups+1 { // and the meta group
		return nil, errReport
	}
	positions := make(map[uint64]position, len(b)/positionSize)
	last := uint64(0)
	for ; len(b) > 0; b = b[positionSize:] {
		group := binary.BigEndian.Uint64(b)
		if len(positions) > 0 && group <= last {
			return nil, errReport
		}
		last = group
		positions[group] = position{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	}
	return positions, nil
}
