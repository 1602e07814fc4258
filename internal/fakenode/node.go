package fakenode

import (
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/transport"
)

// node is a server of the cluster's records.
type node struct {
	cluster *Cluster
	id      string
	address string
	server  *transport.Server
	conns   *listener
	wg      sync.WaitGroup // the accept loop
}

func startNode(c *Cluster, id string) (*node, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start node %s: %w", id, err)
	}
	n := &node{cluster: c, id: id, address: l.Addr().String(), conns: &listener{Listener: l}}
	n.server, err = transport.NewServer(transport.ServerConfig{
		Listener: n.conns, Handler: n, Logger: slog.New(slog.DiscardHandler), DrainTimeout: time.Millisecond,
	})
	if err != nil {
		return nil, fmt.Errorf("start node %s: %w", id, err)
	}
	n.wg.Go(func() { _ = n.server.Serve() }) // it ends by stop
	return n, nil
}

// stop cuts the connections first, so that nobody hears a goodbye: it is a crash.
func (n *node) stop() {
	n.conns.cut()
	_ = n.server.Close() // nothing is left that could fail
	n.wg.Wait()
}

// Serve answers one request, by a fault if there is one for it.
func (n *node) Serve(req op.Request, reply op.Replier) {
	c := n.cluster
	f := c.fault(n.id, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Err != nil {
		reply.Reply(op.Fail(f.Err))
		return
	}
	res := c.serveLocked(n, req)
	if res.Err == nil {
		c.served[req.Op.Code()]++
	}
	switch {
	case f.Mute:
	case f.Cut:
		n.conns.cut()
	case f.Delay > 0:
		c.delayed.Add(1)
		time.AfterFunc(f.Delay, func() {
			defer c.delayed.Done()
			reply.Reply(res)
		})
	default:
		reply.Reply(res)
	}
}

// listener remembers the connections it has accepted, to cut them.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, conn)
		l.mu.Unlock()
	}
	return conn, err
}

func (l *listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close() // it may be closed already
	}
	l.conns = nil
}

// Serve has a node answer a request that did not come over the network. It does not block.
func (c *Cluster) Serve(id string, req op.Request, reply op.Replier) {
	c.mu.Lock()
	n := c.nodes[id]
	c.mu.Unlock()
	n.Serve(req, reply)
}
