package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const nats = "nats"

// natsConfig is a server's file: its name, its addresses and the others' are filled in.
// It syncs every write.
const natsConfig = `server_name: %s
listen: %q
jetstream { store_dir: %q, sync_interval: always }
cluster { name: bench, listen: %q, routes: [%s] }
`

// startNATS starts three servers with JetStream. The load makes the bucket, with three
// replicas, once they serve.
func startNATS(_ context.Context, l *lab) (*cluster, error) {
	addresses, err := freeAddresses(6)
	if err != nil {
		return nil, err
	}
	clients, peers := addresses[:3], addresses[3:]
	c := &cluster{lab: l, loader: loadTool, loadArgs: []string{"--system", nats, "--endpoints", strings.Join(clients, ",")}}
	var routes []string
	for _, peer := range peers {
		routes = append(routes, fmt.Sprintf("%q", "nats://"+peer))
	}
	for i := range clients {
		dir, err := l.directory()
		if err != nil {
			return nil, err
		}
		name, path := fmt.Sprintf("s%d", i+1), filepath.Join(dir, "config")
		config := fmt.Sprintf(natsConfig, name, clients[i], filepath.Join(dir, "data"), peers[i], strings.Join(routes, ", "))
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			return nil, err
		}
		p, err := l.start(name, dir, nats, "--config", path)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, p)
	}
	return c, nil
}
