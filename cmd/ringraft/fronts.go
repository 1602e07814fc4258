package main

import (
	"context"
	"errors"
	"net"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/transport"
	"github.com/ringraft/ringraft/transport/clerk"
	"github.com/ringraft/ringraft/transport/httpapi"
	"github.com/ringraft/ringraft/transport/resp"
)

// front is a way in for clients: a protocol, at a port of its own.
type front interface {
	// Serve returns nil after Shutdown or Close, or the error that it fails with.
	Serve() error
	// Shutdown takes nothing new and lets clients have their answers, until ctx ends.
	Shutdown(ctx context.Context) error
	Close() error
}

// fronts are all that a node offers. They start and end together.
type fronts []front

// openFronts listens where the configuration says.
func (p *parts) openFronts(cfg serverConfig) error {
	var err error
	if p.clerk, err = clerk.New(clerk.Config{Node: p.node}); err != nil {
		return err
	}
	node := frontNode{p.clerk, p.node, p.self.Node}
	for _, f := range []struct {
		flag, address string
		open          func(net.Listener) (front, error)
	}{
		{"native", cfg.native, func(l net.Listener) (front, error) {
			return transport.NewServer(transport.ServerConfig{Listener: l, Handler: p.node, Logger: p.log})
		}},
		{"resp", cfg.resp, func(l net.Listener) (front, error) {
			return resp.NewServer(resp.ServerConfig{Listener: l, Node: node, Logger: p.log, Version: version()})
		}},
		{"http", cfg.http, func(l net.Listener) (front, error) {
			return httpapi.NewServer(httpapi.Config{Listener: l, Node: node, Logger: p.log, Origins: cfg.httpOrigins})
		}},
	} {
		if f.address == "" {
			continue
		}
		l, err := listen(f.flag, f.address)
		if err != nil {
			return err
		}
		opened, err := f.open(l)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		p.fronts = append(p.fronts, opened)
	}
	return nil
}

// serve serves all fronts and returns where the first one to end puts its error.
func (fs fronts) serve() <-chan error {
	ended := make(chan error, len(fs))
	for _, f := range fs {
		go func() { ended <- f.Serve() }() // ended by shutdown or close
	}
	return ended
}

// shutdown ends all fronts at the same time.
func (fs fronts) shutdown(ctx context.Context) error {
	ended := make(chan error, len(fs))
	for _, f := range fs {
		go func() { ended <- f.Shutdown(ctx) }()
	}
	var errs []error
	for range fs {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

func (fs fronts) close() error {
	var errs []error
	for _, f := range fs {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

var _ transport.Looker = (*shard.Node)(nil)

// frontNode is the node as the fronts for Redis and HTTP clients want it: the clerk writes
// for them.
type frontNode struct {
	*clerk.Clerk
	node *shard.Node
	id   string
}

func (n frontNode) LookUp(asked []op.Lookup, answer func(i int, res *op.Result) bool) int {
	return n.node.LookUp(asked, answer)
}

func (n frontNode) ID() string                { return n.id }
func (n frontNode) Now() int64                { return n.node.Now() }
func (n frontNode) Group(slot uint16) uint64  { return n.node.GroupOf(slot) }
func (n frontNode) Shown(group uint64) uint64 { return n.node.Shown(group) }
func (n frontNode) Cluster() string           { return n.node.Map().Cluster }

func (n frontNode) Place(slot uint16) resp.Place {
	m := n.node.Map()
	g, ok := m.Group(m.GroupOf(slot))
	if !ok {
		return resp.Place{Last: slot}
	}
	return resp.Place{Last: m.Run(slot), Replicas: len(g.Replicas)}
}

func (n frontNode) Settings() map[string]string {
	all := map[string]string{}
	for _, s := range n.node.Map().Settings.List() {
		all[s.Name] = s.Value
	}
	return all
}
