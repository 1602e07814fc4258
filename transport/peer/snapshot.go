package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"
)

// A snapshot has a connection of its own:
//
//	sender                         receiver
//	install, the raft request →
//	                             ← reply, empty: raft has the request; or refused
//	chunk → … chunk → end →
//	                             ← reply, raft's response; or failed
//
// Each chunk must arrive within ChunkTimeout, and the last reply within InstallTimeout.

const chunkSize = 256 << 10 // bytes

// InstallSnapshot streams a snapshot. It waits up to ChunkTimeout for its turn, since
// at most MaxSnapshots leave at once.
func (r *replica) InstallSnapshot(id raft.ServerID, _ raft.ServerAddress, request *raft.InstallSnapshotRequest, response *raft.InstallSnapshotResponse, data io.Reader) error {
	node, err := nodeOf(id)
	if err != nil {
		return err
	}
	n := r.net
	turn := time.NewTimer(n.cfg.ChunkTimeout)
	defer turn.Stop()
	select {
	case n.sending <- struct{}{}:
		defer func() { <-n.sending }()
	case <-turn.C:
		return fmt.Errorf("sending a snapshot to node %q: %w: others are on their way", node, errBusy)
	case <-r.ctx.Done():
		return ErrClosed
	}
	s, reader, member, err := n.open(r.ctx, node, "", forSnapshot)
	if err != nil {
		return err
	}
	defer n.drop(s)
	defer context.AfterFunc(r.ctx, func() { _ = s.Close() })() // wakes us if the replica is closed
	if !member {
		return fmt.Errorf("node %q: %w", node, errNotMember)
	}
	if err := n.sendSnapshot(s, reader, string(id), request, response, data); err != nil {
		return fmt.Errorf("sending a snapshot to node %q: %w", node, err)
	}
	return nil
}

func (n *Network) sendSnapshot(s *stream, r *bufio.Reader, target string, request *raft.InstallSnapshotRequest, response *raft.InstallSnapshotResponse, data io.Reader) error {
	s.patience = n.cfg.ChunkTimeout
	head := appendFrame(nil, kindInstall, 0, target, func(b []byte) []byte { return appendRequest(b, request) })
	if _, err := s.Write(head); err != nil {
		return err
	}
	if _, err := readReply(r, n.cfg.MaxFrame); err != nil {
		return err
	}
	if err := sendChunks(s, data, make([]byte, min(chunkSize, n.cfg.MaxFrame-minBodySize))); err != nil {
		return err
	}
	s.patience = n.cfg.InstallTimeout
	reply, err := readReply(r, n.cfg.MaxFrame)
	if err != nil {
		return err
	}
	return decodeResponse(reply, response)
}

// sendChunks sends data to its end, a chunk at a time.
func sendChunks(w io.Writer, data io.Reader, chunk []byte) error {
	var b []byte
	for {
		n, err := io.ReadFull(data, chunk)
		if n > 0 {
			b = appendFrame(b[:0], kindChunk, 0, "", func(b []byte) []byte { return append(b, chunk[:n]...) })
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			_, err := w.Write(appendFrame(b[:0], kindEnd, 0, "", nil))
			return err
		default:
			return fmt.Errorf("reading it: %w", err)
		}
	}
}

func readReply(r *bufio.Reader, limit int) ([]byte, error) {
	f, err := readFrame(r, limit)
	switch {
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case f.kind == kindReply:
		return f.payload, nil
	case f.kind == kindRefused, f.kind == kindFailed:
		return nil, fmt.Errorf("it answers: %s", f.payload)
	}
	return nil, fmt.Errorf("frame of kind %d is no answer", f.kind)
}

// takeSnapshot serves a connection that brings a snapshot, until raft has answered.
func (n *Network) takeSnapshot(s *stream, r *bufio.Reader, from From) error {
	s.patience = n.cfg.ChunkTimeout
	f, err := readFrame(r, n.cfg.MaxFrame)
	if err != nil {
		return err
	}
	select {
	case n.taking <- struct{}{}:
		defer func() { <-n.taking }()
	default:
		return refuse(s, fmt.Errorf("%w: other snapshots are arriving", errBusy))
	}
	replica, responses, err := n.offerSnapshot(r, f, from)
	if err != nil {
		return refuse(s, err)
	}
	if _, err := s.Write(appendFrame(nil, kindReply, 0, "", nil)); err != nil {
		return err // raft, which reads what there is, sees the connection end
	}
	select {
	case response := <-responses:
		return respondOnce(s, response)
	case <-replica.ctx.Done():
		return ErrClosed
	}
}

// offerSnapshot hands the request to raft, which will read the chunks by itself.
func (n *Network) offerSnapshot(r *bufio.Reader, f frame, from From) (*replica, <-chan raft.RPCResponse, error) {
	if !from.Member {
		return nil, nil, errNotMember
	}
	if f.kind != kindInstall {
		return nil, nil, fmt.Errorf("frame of kind %d where a snapshot, %d, belongs", f.kind, kindInstall)
	}
	request, err := decodeRequest(f.kind, f.payload)
	if err != nil {
		return nil, nil, err
	}
	replica := n.replica(f.target)
	if replica == nil {
		return nil, nil, fmt.Errorf("no replica %q here", f.target)
	}
	responses := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: request, RespChan: responses, Reader: &chunkReader{r: r, limit: n.cfg.MaxFrame}}
	select {
	case replica.rpcs <- rpc:
		return replica, responses, nil
	default:
		return nil, nil, errQueueFull
	}
}

func refuse(s *stream, reason error) error {
	_, err := s.Write(appendFrame(nil, kindRefused, 0, "", appendText(reason.Error())))
	return errors.Join(reason, err)
}

func respondOnce(s *stream, response raft.RPCResponse) error {
	if response.Error != nil {
		_, err := s.Write(appendFrame(nil, kindFailed, 0, "", appendText(response.Error.Error())))
		return errors.Join(response.Error, err)
	}
	_, err := s.Write(appendFrame(nil, kindReply, 0, "", func(b []byte) []byte { return appendResponse(b, response.Response) }))
	return err
}

// chunkReader joins the chunks of a snapshot. It ends with io.EOF only where the
// sender said that the snapshot is complete.
type chunkReader struct {
	r     *bufio.Reader
	limit int
	chunk []byte
	err   error
}

func (c *chunkReader) Read(b []byte) (int, error) {
	for len(c.chunk) == 0 && c.err == nil {
		c.next()
	}
	if len(c.chunk) == 0 {
		return 0, c.err
	}
	n := copy(b, c.chunk)
	c.chunk = c.chunk[n:]
	return n, nil
}

func (c *chunkReader) next() {
	f, err := readFrame(c.r, c.limit)
	switch {
	case err == io.EOF:
		c.err = io.ErrUnexpectedEOF
	case err != nil:
		c.err = err
	case f.kind == kindEnd:
		c.err = io.EOF
	case f.kind == kindChunk:
		c.chunk = f.payload
	default:
		c.err = fmt.Errorf("frame of kind %d inside a snapshot", f.kind)
	}
}
