package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const ringraft = "ringraft"

// startRingraft returns how a cluster of three nodes with so many groups starts. Its
// leaders are spread over the nodes, or all on the first.
func startRingraft(groups int, ledByOne bool) func(context.Context, *lab) (*cluster, error) {
	return func(ctx context.Context, l *lab) (*cluster, error) {
		addresses, err := freeAddresses(6)
		if err != nil {
			return nil, err
		}
		natives, peers := addresses[:3], addresses[3:]
		c := &cluster{lab: l, loader: ringraft, loadArgs: []string{"bench", "--endpoints", strings.Join(natives, ",")}}
		var members []string
		for i, peer := range peers {
			members = append(members, fmt.Sprintf("n%d=%s", i+1, peer))
		}
		for i := range natives {
			dir, err := l.directory()
			if err != nil {
				return nil, err
			}
			id := "n" + strconv.Itoa(i+1)
			p, err := l.start(id, dir, ringraft, "server", "--id", id, "--data", filepath.Join(dir, "data"),
				"--native", natives[i], "--peer", peers[i], "--init", strings.Join(members, ","), "--groups", strconv.Itoa(groups))
			if err != nil {
				return nil, err
			}
			c.nodes = append(c.nodes, p)
		}
		if err := c.await(ctx, c.led); err != nil || !ledByOne {
			return c, err
		}
		return c, c.gather(ctx, groups)
	}
}

// restart starts a killed node again, and waits until the leaders stand as they did
// before.
func (c *cluster) restart(ctx context.Context, node int) error {
	old := c.nodes[node]
	p, err := c.lab.start(old.name, old.dir, ringraft, old.cmd.Args[1:]...)
	if err != nil {
		return err
	}
	c.nodes[node] = p
	return c.await(ctx, c.inPlace)
}

// status is what cluster status prints, as far as it is of use here.
type status struct {
	Nodes []struct {
		ID    string `json:"id"`
		State string `json:"state"`
	} `json:"nodes"`
	Groups []struct {
		ID       int    `json:"id"`
		Leader   string `json:"leader"`
		Replicas []struct {
			Node string `json:"node"`
			Role string `json:"role"`
			Lag  int64  `json:"lag"`
		} `json:"replicas"`
	} `json:"groups"`
}

func (c *cluster) status(ctx context.Context) (s status, err error) {
	out, err := c.ask(ctx, "cluster", "status", "-o", "json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

// ask runs a verb of the command line on the cluster.
func (c *cluster) ask(ctx context.Context, args ...string) ([]byte, error) {
	args = append(args, c.loadArgs[1:]...) // the endpoints
	out, err := exec.CommandContext(ctx, c.lab.tools[ringraft].program, args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(args[:2], " "), err, out)
	}
	return out, nil
}

// led returns nil once every group has a leader, and all replicas follow it.
func (c *cluster) led(ctx context.Context) error {
	s, err := c.status(ctx)
	if err != nil {
		return err
	}
	for _, g := range s.Groups {
		if g.Leader == "" {
			return fmt.Errorf("group %d has no leader", g.ID)
		}
		for _, r := range g.Replicas {
			if r.Role != "leader" && r.Role != "follower" {
				return fmt.Errorf("group %d: the replica on %s is %s", g.ID, r.Node, r.Role)
			}
		}
	}
	return nil
}

// inPlace returns nil once every group is led by the first of its replicas, its preferred
// leader.
func (c *cluster) inPlace(ctx context.Context) error {
	if err := c.led(ctx); err != nil {
		return err
	}
	s, err := c.status(ctx)
	if err != nil {
		return err
	}
	for _, g := range s.Groups {
		if g.Leader != g.Replicas[0].Node {
			return fmt.Errorf("group %d is led by %s, not by %s", g.ID, g.Leader, g.Replicas[0].Node)
		}
	}
	return nil
}

// gather hands all groups to the first node.
func (c *cluster) gather(ctx context.Context, groups int) error {
	for g := 1; g <= groups; g++ {
		err := c.await(ctx, func(ctx context.Context) error {
			_, err := c.ask(ctx, "cluster", "transfer", strconv.Itoa(g), "--to", c.nodes[0].name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.await(ctx, c.inPlace)
}
