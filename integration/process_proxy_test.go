package integration

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// mutingProxy forwards connections to a node. From the moment that a client sends
// the marker in one of its writes, that connection gets no more answers.
type mutingProxy struct {
	listener net.Listener
	target   string
	marker   []byte

	wg     sync.WaitGroup
	mu     sync.Mutex
	conns  []net.Conn
	silent bool
}

func startMutingProxy(t *testing.T, target, marker string) *mutingProxy {
	t.Helper()
	l, err := net.Listen("tcp", freeAddresses(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	p := &mutingProxy{listener: l, target: target, marker: []byte(marker), silent: true}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *mutingProxy) address() string { return p.listener.Addr().String() }

// speak lets all answers through on connections made from now on.
func (p *mutingProxy) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = false
}

func (p *mutingProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *mutingProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		silent := p.silent
		p.mu.Unlock()
		muted, mute := context.WithCancel(context.Background())
		found := mute
		if !silent {
			found = func() {}
		}
		p.wg.Go(func() {
			defer server.Close()
			defer mute()
			_, _ = io.Copy(server, io.TeeReader(client, &watcher{p.marker, found})) // either end may go
		})
		p.wg.Go(func() {
			_, _ = io.Copy(&mutable{client, muted}, server)
			if muted.Err() == nil {
				client.Close()
			}
		})
	}
}

// watcher calls found when the marker is written to it at once.
type watcher struct {
	marker []byte
	found  func()
}

func (w *watcher) Write(b []byte) (int, error) {
	if bytes.Contains(b, w.marker) {
		w.found()
	}
	return len(b), nil
}

// mutable drops what is written to it once it is muted.
type mutable struct {
	to    io.Writer
	muted context.Context
}

func (m *mutable) Write(b []byte) (int, error) {
	if m.muted.Err() != nil {
		return len(b), nil
	}
	return m.to.Write(b)
}
