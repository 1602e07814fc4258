package main

import (
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/transport/resp"
)

// redisNode is a node as the Redis front wants it.
type redisNode struct {
	*shard.Node
	id string
}

func (n redisNode) ID() string               { return n.id }
func (n redisNode) Group(slot uint16) uint64 { return n.GroupOf(slot) }

func (n redisNode) Place(slot uint16) resp.Place {
	m := n.Map()
	g, ok := m.Group(m.GroupOf(slot))
	if !ok {
		return resp.Place{Last: slot}
	}
	return resp.Place{Last: m.Run(slot), Replicas: len(g.Replicas)}
}

func (n redisNode) Settings() map[string]string {
	all := map[string]string{}
	for _, s := range n.Map().Settings.List() {
		all[s.Name] = s.Value
	}
	return all
}

// listenToRedisClients is nil without an address.
func (p *parts) listenToRedisClients(addr string) (*resp.Server, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := listen("resp", addr)
	if err != nil {
		return nil, err
	}
	node := redisNode{p.node, p.self.Node}
	server, err := resp.NewServer(resp.ServerConfig{Listener: l, Node: node, Logger: p.log, Version: version()})
	if err != nil {
		l.Close()
	}
	return server, err
}
