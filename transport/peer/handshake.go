package peer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	magic           = "ringpeer"
	protocolVersion = 3
	preambleSize    = len(magic) + 2 // magic, version
	maxHandshake    = 8 << 10        // bytes of an introduction
	maxName         = 255            // bytes of each part of an Identity
)

// Identity is who a node says it is.
type Identity struct {
	Cluster     string // empty: it belongs to none yet
	Node        string // its id
	Incarnation string // of its data directory: another one means another directory
}

// From is where a call comes from.
type From struct {
	Identity
	Member bool // it is of our cluster and has been verified
}

func (i Identity) validate() error {
	if i.Node == "" || strings.Contains(i.Node, "/") {
		return fmt.Errorf("peer: node id %q, want one that is not empty and has no slash", i.Node)
	}
	if max(len(i.Cluster), len(i.Node), len(i.Incarnation)) > maxName {
		return fmt.Errorf("peer: a part of the identity of node %q is longer than %d bytes", i.Node, maxName)
	}
	return nil
}

// purpose says what a connection is for.
type purpose byte

const (
	forTraffic  purpose = 1
	forSnapshot purpose = 2
)

// introduction is what each side says first. Refusal is why the acceptor will not
// talk; the dialer never sets it.
type introduction struct {
	identity Identity
	purpose  purpose
	member   bool // the acceptor takes the dialer for a member
	refusal  string
}

// refusedError is a handshake that one side ended on purpose.
type refusedError struct {
	remote Identity
	reason error
	alarm  bool // our cluster, but not a node that we know
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("handshake with node %q refused: %v", e.remote.Node, e.reason)
}

func (e *refusedError) Unwrap() error { return e.reason }

// greet introduces us to the node that we have dialled and returns whether both
// sides are members of one cluster. All of it ends by cfg.HandshakeTimeout.
func (n *Network) greet(s *stream, r *bufio.Reader, node string, p purpose) (member bool, err error) {
	s.until = time.Now().Add(n.cfg.HandshakeTimeout)
	defer func() { s.until = time.Time{} }()
	self := n.identity()
	if err := writeIntroduction(s, kindHello, introduction{identity: self, purpose: p}); err != nil {
		return false, fmt.Errorf("introducing ourselves: %w", err)
	}
	remote, err := readIntroduction(r, kindWelcome)
	if err != nil {
		return false, fmt.Errorf("waiting for the introduction: %w", err)
	}
	if remote.refusal != "" {
		return false, &refusedError{remote: remote.identity, reason: errors.New("it says: " + remote.refusal)}
	}
	if remote.identity.Node != node {
		return false, &refusedError{remote: remote.identity, reason: fmt.Errorf("its address is thought to be that of node %q", node)}
	}
	member, err = n.judge(self, remote.identity)
	return member && remote.member, err
}

// receive answers a dialer's introduction. All of it ends by cfg.HandshakeTimeout.
func (n *Network) receive(s *stream, r *bufio.Reader) (From, purpose, error) {
	s.until = time.Now().Add(n.cfg.HandshakeTimeout)
	defer func() { s.until = time.Time{} }()
	remote, err := readIntroduction(r, kindHello)
	if err != nil && !errors.Is(err, errVersion) {
		return From{}, 0, err
	}
	self := n.identity()
	var member bool
	if err == nil {
		member, err = n.judge(self, remote.identity)
	}
	answer := introduction{identity: self, purpose: remote.purpose, member: member}
	if err != nil {
		answer.refusal = reasonOf(err)
	}
	if writeErr := writeIntroduction(s, kindWelcome, answer); err == nil {
		err = writeErr
	}
	return From{Identity: remote.identity, Member: member}, remote.purpose, err
}

// judge returns whether the remote is a fellow member. A node of no cluster or of
// another one is not, and may still call.
func (n *Network) judge(self, remote Identity) (member bool, err error) {
	if err := remote.validate(); err != nil {
		return false, &refusedError{remote: remote, reason: err}
	}
	if self.Cluster == "" || self.Cluster != remote.Cluster {
		return false, nil
	}
	if err := n.cfg.Verify(remote); err != nil {
		return false, &refusedError{remote: remote, reason: err, alarm: true}
	}
	return true, nil
}

// reasonOf returns what the remote should be told.
func reasonOf(err error) string {
	var refused *refusedError
	if errors.As(err, &refused) {
		err = refused.reason
	}
	text := err.Error()
	return text[:min(len(text), maxText)]
}

func writeIntroduction(s *stream, k kind, i introduction) error {
	b := binary.LittleEndian.AppendUint16([]byte(magic), protocolVersion)
	_, err := s.Write(appendFrame(b, k, 0, "", func(b []byte) []byte { return appendIntroduction(b, i) }))
	return err
}

func appendIntroduction(b []byte, i introduction) []byte {
	b = appendBytes(b, i.identity.Cluster)
	b = appendBytes(b, i.identity.Node)
	b = appendBytes(b, i.identity.Incarnation)
	b = appendBool(append(b, byte(i.purpose)), i.member)
	return appendBytes(b, i.refusal)
}

func decodeIntroduction(b []byte) (introduction, error) {
	r := reader{b: b}
	i := introduction{
		identity: Identity{Cluster: string(r.bytes()), Node: string(r.bytes()), Incarnation: string(r.bytes())},
		purpose:  purpose(r.byte()), member: r.bool(), refusal: string(r.bytes()),
	}
	return i, r.done()
}

func readIntroduction(r *bufio.Reader, want kind) (introduction, error) {
	if err := readPreamble(r); err != nil {
		return introduction{}, err
	}
	f, err := readFrame(r, maxHandshake)
	if err != nil {
		return introduction{}, err
	}
	if f.kind != want {
		return introduction{}, fmt.Errorf("frame of kind %d where an introduction, %d, belongs", f.kind, want)
	}
	i, err := decodeIntroduction(f.payload)
	if err == nil && i.purpose != forTraffic && i.purpose != forSnapshot {
		err = fmt.Errorf("%w: purpose %d", errMalformed, i.purpose)
	}
	return i, err
}

var errVersion = errors.New("protocol versions differ")

func readPreamble(r *bufio.Reader) error {
	b := make([]byte, preambleSize)
	for i := range b {
		c, err := r.ReadByte()
		if err != nil {
			return err
		}
		if b[i] = c; i < len(magic) && c != magic[i] {
			return strangerError(b[:i+1], r)
		}
	}
	if v := binary.LittleEndian.Uint16(b[len(magic):]); v != protocolVersion {
		return fmt.Errorf("%w: %d there, %d here", errVersion, v, protocolVersion)
	}
	return nil
}

// strangerError names what else speaks to this port.
func strangerError(start []byte, r *bufio.Reader) error {
	rest, _ := r.Peek(min(r.Buffered(), 8))
	start = append(bytes.Clone(start), rest...)
	switch {
	case start[0] == 0x16:
		return errors.New("not a peer: it starts a TLS session, and this port is plain")
	case bytes.HasPrefix(start, []byte("GET ")), bytes.HasPrefix(start, []byte("POST ")), bytes.HasPrefix(start, []byte("HEAD ")):
		return errors.New("not a peer: it speaks HTTP")
	}
	return fmt.Errorf("not a peer: it starts with %q", start)
}
