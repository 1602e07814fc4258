package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

// echo is the bound of local reads: a server that speaks Ringraft's frames, and does
// nothing else. See the program echo.
const echo = "echo"

func startEcho(ctx context.Context, l *lab) (*cluster, error) {
	addresses, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	dir, err := l.directory()
	if err != nil {
		return nil, err
	}
	p, err := l.start(echo, dir, echo, addresses[0])
	if err != nil {
		return nil, err
	}
	c := &cluster{lab: l, nodes: []*process{p}, loader: ringraft, loadArgs: []string{"bench", "--endpoints", addresses[0]}}
	return c, c.await(ctx, func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addresses[0])
		if err != nil {
			return fmt.Errorf("connecting to the echo: %w", err)
		}
		return conn.Close()
	})
}

func echoReads(c *cluster) []string { return append(ringraftReads(c), "--no-fill") }
