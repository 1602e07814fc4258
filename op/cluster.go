package op

import (
	"github.com/hashicorp/go-msgpack/v2/codec"
)

// Cluster operations are rare; their answers are documents that go-msgpack encodes
// as maps by field name, so that they can grow.

// Hello greets a node. Detail: a [Greeting]. A non-empty Cluster that is not the
// node's is refused.
type Hello struct{ Cluster string }

// Greeting is a node's answer to [Hello].
type Greeting struct {
	Cluster string `codec:"cluster"`
	Node    string `codec:"node"`
	Epoch   uint64 `codec:"epoch"`
}

func (Hello) Code() Code                 { return CodeHello }
func (Hello) Check(Limits) *Error        { return nil }
func (o Hello) AppendTo(b []byte) []byte { return appendString(b, o.Cluster) }
func (r *reader) hello() Op              { return Hello{Cluster: string(r.bytes("cluster"))} }

// ClusterMap asks for the cluster map. Detail: an encoded placement.Map, empty if
// the node has none newer than Epoch.
type ClusterMap struct{ Epoch uint64 }

func (ClusterMap) Code() Code                 { return CodeMap }
func (ClusterMap) Check(Limits) *Error        { return nil }
func (o ClusterMap) AppendTo(b []byte) []byte { return appendUint(b, o.Epoch) }
func (r *reader) clusterMap() Op              { return ClusterMap{Epoch: r.uint("epoch")} }

// Status asks what a node knows of its replicas or, with All, what every node
// answers to that. Detail: a []NodeStatus.
type Status struct{ All bool }

// NodeStatus is what a node tells of itself.
type NodeStatus struct {
	Node     string          `codec:"node"`
	State    string          `codec:"state"` // up, draining, full or down
	Redis    string          `codec:"redis"` // host:port for Redis clients, "" if it serves none
	Replicas []ReplicaStatus `codec:"replicas"`
}

// ReplicaStatus is what a node tells of its replica of a group.
type ReplicaStatus struct {
	Group   uint64 `codec:"group"` // 0 is the meta group
	Role    string `codec:"role"`  // leader, follower, candidate, starting, quarantined
	Term    uint64 `codec:"term"`
	Commit  uint64 `codec:"commit"`  // log index known to be committed
	Applied uint64 `codec:"applied"` // log index that the state machine has reached
	Keys    int64  `codec:"keys"`
	Bytes   int64  `codec:"bytes"`  // logical, of records, sessions and transactions
	Digest  uint64 `codec:"digest"` // of the state at Applied
	Reason  string `codec:"reason"` // why it is quarantined, or should not lead

	Sessions     int64 `codec:"sessions"`      // with those that have ended but are not yet removed
	SessionBytes int64 `codec:"session_bytes"` // the part of Bytes that is sessions and their answers
	Locks        int64 `codec:"locks"`         // keys that transactions over several groups have locked

	MemoryUsed int64 `codec:"memory_used"` // bytes that the records take in memory
	MemoryHeld int64 `codec:"memory_held"` // bytes of the memory that they lie in, with what is free there
}

func (Status) Code() Code                 { return CodeStatus }
func (Status) Check(Limits) *Error        { return nil }
func (o Status) AppendTo(b []byte) []byte { return appendBool(b, o.All) }
func (r *reader) status() Op              { return Status{All: r.bool("all")} }

// Transfer hands the leadership of Group to node To, or, if that is empty, to its
// best follower, and makes the new leader the preferred one. Detail: the new
// leader's id as a string.
type Transfer struct {
	Group uint64
	To    string
}

func (Transfer) Code() Code                 { return CodeTransfer }
func (Transfer) Check(Limits) *Error        { return nil }
func (o Transfer) AppendTo(b []byte) []byte { return appendString(appendUint(b, o.Group), o.To) }
func (r *reader) transfer() Op {
	return Transfer{Group: r.uint("group"), To: string(r.bytes("to"))}
}

// SetConfig changes the setting Name to Value. Version is the map's new epoch.
type SetConfig struct{ Name, Value string }

func (SetConfig) Code() Code                 { return CodeSetConfig }
func (SetConfig) Check(Limits) *Error        { return nil }
func (o SetConfig) AppendTo(b []byte) []byte { return appendString(appendString(b, o.Name), o.Value) }
func (r *reader) setConfig() Op {
	return SetConfig{Name: string(r.bytes("name")), Value: string(r.bytes("value"))}
}

// EncodeDetail returns v in MessagePack.
func EncodeDetail(v any) []byte {
	var b []byte
	h := detailHandle()
	codec.NewEncoderBytes(&b, h).MustEncode(v)
	return b
}

// DecodeDetail fills v, a pointer, from b.
func DecodeDetail(b []byte, v any) error {
	return codec.NewDecoderBytes(b, detailHandle()).Decode(v)
}

func detailHandle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.RawToString = true
	h.Canonical = true
	return h
}
