package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

const etcd = "etcd"

// startEtcd starts three members as etcd starts by itself: it syncs every write. The
// load waits until they serve.
func startEtcd(_ context.Context, l *lab) (*cluster, error) {
	addresses, err := freeAddresses(6)
	if err != nil {
		return nil, err
	}
	clients, peers := addresses[:3], addresses[3:]
	c := &cluster{lab: l, loader: loadTool, loadArgs: []string{"--system", etcd, "--endpoints", strings.Join(clients, ",")}}
	var members []string
	for i, peer := range peers {
		members = append(members, fmt.Sprintf("e%d=http://%s", i+1, peer))
	}
	for i := range clients {
		dir, err := l.directory()
		if err != nil {
			return nil, err
		}
		name, client, peer := fmt.Sprintf("e%d", i+1), "http://"+clients[i], "http://"+peers[i]
		p, err := l.start(name, dir, etcd, "--name", name, "--data-dir", filepath.Join(dir, "data"),
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(members, ","), "--log-level", "error")
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, p)
	}
	return c, nil
}
