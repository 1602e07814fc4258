package peer

//lint:file-ignore SA1019 raft still fills the fields that it calls deprecated, so they cross too

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Raft's messages are encoded field by field in the order of their declaration:
// integers as varints, byte strings with their length in front. Every field of
// raft v1.7.3 crosses; empty and nil byte strings are one.

var errMalformed = errors.New("malformed message")

// minLogSize is the least that an encoded log entry takes, in bytes: it bounds how
// many entries a message can claim to hold.
const minLogSize = 6

// appendRequest appends a raft request, one of those that decodeRequest returns.
func appendRequest(b []byte, request any) []byte {
	switch m := request.(type) {
	case *raft.AppendEntriesRequest:
		b = appendHeader(b, m.RPCHeader)
		b = binary.AppendUvarint(b, m.Term)
		b = appendBytes(b, m.Leader)
		b = binary.AppendUvarint(b, m.PrevLogEntry)
		b = binary.AppendUvarint(b, m.PrevLogTerm)
		b = binary.AppendUvarint(b, m.LeaderCommitIndex)
		return appendLogs(b, m.Entries)
	case *raft.RequestVoteRequest:
		b = appendHeader(b, m.RPCHeader)
		b = binary.AppendUvarint(b, m.Term)
		b = appendBytes(b, m.Candidate)
		b = binary.AppendUvarint(b, m.LastLogIndex)
		b = binary.AppendUvarint(b, m.LastLogTerm)
		return appendBool(b, m.LeadershipTransfer)
	case *raft.RequestPreVoteRequest:
		b = appendHeader(b, m.RPCHeader)
		b = binary.AppendUvarint(b, m.Term)
		b = binary.AppendUvarint(b, m.LastLogIndex)
		return binary.AppendUvarint(b, m.LastLogTerm)
	case *raft.TimeoutNowRequest:
		return appendHeader(b, m.RPCHeader)
	case *raft.InstallSnapshotRequest:
		b = appendHeader(b, m.RPCHeader)
		b = binary.AppendVarint(b, int64(m.SnapshotVersion))
		b = binary.AppendUvarint(b, m.Term)
		b = appendBytes(b, m.Leader)
		b = binary.AppendUvarint(b, m.LastLogIndex)
		b = binary.AppendUvarint(b, m.LastLogTerm)
		b = appendBytes(b, m.Peers)
		b = appendBytes(b, m.Configuration)
		b = binary.AppendUvarint(b, m.ConfigurationIndex)
		return binary.AppendVarint(b, m.Size)
	}
	panic(fmt.Sprintf("peer: no encoding for %T", request))
}

// decodeRequest returns the raft request of a frame, which it aliases.
func decodeRequest(k kind, b []byte) (any, error) {
	r := reader{b: b}
	var request any
	switch k {
	case kindAppend:
		request = &raft.AppendEntriesRequest{
			RPCHeader: r.header(), Term: r.uint(), Leader: r.bytes(),
			PrevLogEntry: r.uint(), PrevLogTerm: r.uint(), LeaderCommitIndex: r.uint(), Entries: r.logs(),
		}
	case kindVote:
		request = &raft.RequestVoteRequest{
			RPCHeader: r.header(), Term: r.uint(), Candidate: r.bytes(),
			LastLogIndex: r.uint(), LastLogTerm: r.uint(), LeadershipTransfer: r.bool(),
		}
	case kindPreVote:
		request = &raft.RequestPreVoteRequest{
			RPCHeader: r.header(), Term: r.uint(), LastLogIndex: r.uint(), LastLogTerm: r.uint(),
		}
	case kindTimeoutNow:
		request = &raft.TimeoutNowRequest{RPCHeader: r.header()}
	case kindInstall:
		request = &raft.InstallSnapshotRequest{
			RPCHeader: r.header(), SnapshotVersion: raft.SnapshotVersion(r.int()), Term: r.uint(), Leader: r.bytes(),
			LastLogIndex: r.uint(), LastLogTerm: r.uint(), Peers: r.bytes(),
			Configuration: r.bytes(), ConfigurationIndex: r.uint(), Size: r.int(),
		}
	default:
		return nil, fmt.Errorf("frame of unknown kind %d", k)
	}
	return request, r.done()
}

// appendResponse appends the answer to a raft request.
func appendResponse(b []byte, response any) []byte {
	switch m := response.(type) {
	case *raft.AppendEntriesResponse:
		b = appendHeader(b, m.RPCHeader)
		b = binary.AppendUvarint(b, m.Term)
		b = binary.AppendUvarint(b, m.LastLog)
		return appendBool(appendBool(b, m.Success), m.NoRetryBackoff)
	case *raft.RequestVoteResponse:
		b = appendHeader(b, m.RPCHeader)
		b = binary.AppendUvarint(b, m.Term)
		return appendBool(appendBytes(b, m.Peers), m.Granted)
	case *raft.RequestPreVoteResponse:
		b = appendHeader(b, m.RPCHeader)
		return appendBool(binary.AppendUvarint(b, m.Term), m.Granted)
	case *raft.TimeoutNowResponse:
		return appendHeader(b, m.RPCHeader)
	case *raft.InstallSnapshotResponse:
		b = appendHeader(b, m.RPCHeader)
		return appendBool(binary.AppendUvarint(b, m.Term), m.Success)
	}
	panic(fmt.Sprintf("peer: no encoding for %T", response))
}

// decodeResponse fills response, a pointer to the type that the request calls for.
func decodeResponse(b []byte, response any) error {
	r := reader{b: b}
	switch m := response.(type) {
	case *raft.AppendEntriesResponse:
		*m = raft.AppendEntriesResponse{
			RPCHeader: r.header(), Term: r.uint(), LastLog: r.uint(), Success: r.bool(), NoRetryBackoff: r.bool(),
		}
	case *raft.RequestVoteResponse:
		*m = raft.RequestVoteResponse{RPCHeader: r.header(), Term: r.uint(), Peers: r.bytes(), Granted: r.bool()}
	case *raft.RequestPreVoteResponse:
		*m = raft.RequestPreVoteResponse{RPCHeader: r.header(), Term: r.uint(), Granted: r.bool()}
	case *raft.TimeoutNowResponse:
		*m = raft.TimeoutNowResponse{RPCHeader: r.header()}
	case *raft.InstallSnapshotResponse:
		*m = raft.InstallSnapshotResponse{RPCHeader: r.header(), Term: r.uint(), Success: r.bool()}
	default:
		panic(fmt.Sprintf("peer: no decoding for %T", response))
	}
	return r.done()
}

func appendHeader(b []byte, h raft.RPCHeader) []byte {
	b = binary.AppendVarint(b, int64(h.ProtocolVersion))
	return appendBytes(appendBytes(b, h.ID), h.Addr)
}

func appendLogs(b []byte, logs []*raft.Log) []byte {
	b = binary.AppendUvarint(b, uint64(len(logs)))
	for _, l := range logs {
		b = append(b, byte(l.Type))
		b = binary.AppendUvarint(b, l.Index)
		b = binary.AppendUvarint(b, l.Term)
		b = binary.AppendVarint(b, unixNano(l.AppendedAt))
		b = appendBytes(appendBytes(b, l.Data), l.Extensions)
	}
	return b
}

// unixNano returns 0 for the zero time, for which time.Time.UnixNano is undefined.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func appendBytes[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// reader takes fields from the front of b. After the first failure it returns zeros.
type reader struct {
	b   []byte
	err error
}

// done reports the first failure; bytes that are left over are one.
func (r *reader) done() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%w: %d bytes after its end", errMalformed, len(r.b))
	}
	return r.err
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: it ends too early or holds an impossible value", errMalformed)
	}
	r.b = nil
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) bool() bool {
	v := r.byte()
	if v > 1 {
		r.fail()
	}
	return v == 1
}

// bytes returns a part of b with no room to grow, nil if it is empty.
func (r *reader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersion(r.int()), ID: r.bytes(), Addr: r.bytes()}
}

func (r *reader) logs() []*raft.Log {
	n := r.uint()
	if n > uint64(len(r.b)/minLogSize) {
		r.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	logs, pointers := make([]raft.Log, n), make([]*raft.Log, n)
	for i := range logs {
		l := &logs[i]
		l.Type, l.Index, l.Term = raft.LogType(r.byte()), r.uint(), r.uint()
		if nanos := r.int(); nanos != 0 {
			l.AppendedAt = time.Unix(0, nanos)
		}
		l.Data, l.Extensions = r.bytes(), r.bytes()
		pointers[i] = l
	}
	return pointers
}
