package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	redis = "redis"
	// redisTwin is the program that Debian's redis-tools has under this name. It is
	// redis-server, if it is called so; installing that package starts no service.
	redisTwin = "redis-check-rdb"
)

// findRedis takes redis-server from the path, or from Debian's package redis-tools, which it
// installs where that can be done.
func (l *lab) findRedis(ctx context.Context) error {
	if path, err := exec.LookPath("redis-server"); err == nil {
		l.tools[redis] = command{program: path}
		return nil
	}
	path, err := exec.LookPath(redisTwin)
	if err != nil {
		if err := installRedis(ctx); err != nil {
			return fmt.Errorf("there is no redis-server, and it cannot be installed; install it, or leave redis out of -systems: %w", err)
		}
		if path, err = exec.LookPath(redisTwin); err != nil {
			return err
		}
	}
	l.tools[redis] = command{program: path, title: "redis-server"}
	return nil
}

func installRedis(ctx context.Context) error {
	fmt.Fprintln(os.Stderr, "installing the package redis-tools")
	for _, args := range [][]string{{"update", "-q"}, {"install", "-q", "-y", "--no-install-recommends", "redis-tools"}} {
		if out, err := exec.CommandContext(ctx, "apt-get", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// startRedis starts a server that writes nothing to disk.
func startRedis(_ context.Context, l *lab) (*cluster, error) {
	c := newRedis(l)
	addresses, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	return c, c.startNode(addresses[0], "--appendonly", "no")
}

// startReplicated starts a server with two replicas, which all sync every write, and
// waits until the replicas follow. A write counts once a replica has it.
func startReplicated(ctx context.Context, l *lab) (*cluster, error) {
	c := newRedis(l)
	c.loadArgs = append(c.loadArgs, "--resp-wait", "1")
	addresses, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(addresses[0], ":")
	for i, address := range addresses {
		args := []string{"--appendonly", "yes", "--appendfsync", "always"}
		if i > 0 {
			args = append(args, "--replicaof", host, port)
		}
		if err := c.startNode(address, args...); err != nil {
			return nil, err
		}
	}
	return c, c.await(ctx, func(ctx context.Context) error { return redisFollowed(ctx, addresses[0], 2) })
}

func newRedis(l *lab) *cluster {
	return &cluster{lab: l, loader: ringraft, loadArgs: []string{"bench"}}
}

func (c *cluster) startNode(address string, args ...string) error {
	dir, err := c.lab.directory()
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(address, ":")
	args = append([]string{"--bind", host, "--port", port, "--dir", dir, "--save", ""}, args...)
	p, err := c.lab.start("redis-"+port, dir, redis, args...)
	if err != nil {
		return err
	}
	if c.nodes = append(c.nodes, p); len(c.nodes) == 1 {
		c.loadArgs = append(c.loadArgs, "--resp", address)
	}
	return nil
}

// redisFollowed returns nil once so many replicas follow the server.
func redisFollowed(ctx context.Context, address string, replicas int) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "INFO replication\r\nQUIT\r\n"); err != nil {
		return err
	}
	online := 0
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "slave") && strings.Contains(lines.Text(), "state=online") {
			online++
		}
	}
	if online < replicas {
		return fmt.Errorf("%d of %d replicas follow", online, replicas)
	}
	return nil
}
