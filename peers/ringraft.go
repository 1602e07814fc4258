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
		addresses, err := freeAddresses(7)
		if err != nil {
			return nil, err
		}
		var members []member
		for i := range 3 {
			members = append(members, member{tool: ringraft, native: addresses[i], peer: addresses[3+i]})
		}
		members[0].resp = addresses[6]
		c, err := l.form(ctx, groups, members)
		if err != nil || !ledByOne {
			return c, err
		}
		return c, c.gather(ctx, groups)
	}
}

// startWired does the same with nodes whose network can be cut.
func startWired(groups int) func(context.Context, *lab) (*cluster, error) {
	return func(ctx context.Context, l *lab) (*cluster, error) {
		w, err := l.wire(ctx, 3)
		if err != nil {
			return nil, err
		}
		var members []member
		for i := range 3 {
			tool := ringraft + " in " + w.name(i)
			l.tools[tool] = command{program: "ip", args: []string{"netns", "exec", w.name(i), l.tools[ringraft].program}}
			members = append(members, member{tool: tool, native: w.port(i, 7000), peer: w.port(i, 7001)})
		}
		c, err := l.form(ctx, groups, members, "--insecure")
		if err != nil {
			return nil, err
		}
		c.wire = w
		return c, nil
	}
}

// member is a node to be: the tool that starts it, and where it listens; resp may be "".
type member struct{ tool, native, peer, resp string }

// form starts the nodes and waits until all groups are led.
func (l *lab) form(ctx context.Context, groups int, members []member, flags ...string) (*cluster, error) {
	var natives, init []string
	for i, m := range members {
		natives = append(natives, m.native)
		init = append(init, fmt.Sprintf("n%d=%s", i+1, m.peer))
	}
	c := &cluster{lab: l, loader: ringraft, loadArgs: []string{"bench", "--endpoints", strings.Join(natives, ",")}, resp: members[0].resp}
	for i, m := range members {
		dir, err := l.directory()
		if err != nil {
			return nil, err
		}
		id := "n" + strconv.Itoa(i+1)
		args := []string{"server", "--id", id, "--data", filepath.Join(dir, "data"), "--native", m.native, "--peer", m.peer,
			"--init", strings.Join(init, ","), "--groups", strconv.Itoa(groups)}
		if m.resp != "" {
			args = append(args, "--resp", m.resp)
		}
		p, err := l.start(id, dir, m.tool, append(args, flags...)...)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, p)
	}
	return c, c.await(ctx, c.led)
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
	Groups []groupStatus `json:"groups"`
	Meta   groupStatus   `json:"meta"`
}

type groupStatus struct {
	ID       int    `json:"id"`
	Leader   string `json:"leader"`
	Term     int64  `json:"term"`
	Replicas []struct {
		Node string `json:"node"`
		Role string `json:"role"`
		Lag  int64  `json:"lag"`
	} `json:"replicas"`
}

func (c *cluster) status(ctx context.Context) (s status, err error) {
	out, err := c.ask(ctx, "cluster", "status", "-o", "json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

// terms sums up the terms of all groups: it grows by one with each election at least.
func (c *cluster) terms(ctx context.Context) (sum int64, err error) {
	s, err := c.status(ctx)
	if err != nil {
		return 0, err
	}
	sum = s.Meta.Term
	for _, g := range s.Groups {
		sum += g.Term
	}
	return sum, nil
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
