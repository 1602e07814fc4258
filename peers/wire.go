package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// wire is a network of namespaces in a star: each node has one of its own, with a link to
// the router in the middle, and so has this process. The router drops what is cut, silently,
// as a broken cable or a firewall does.
type wire struct {
	prefix string     // of the namespaces' names
	octet  int        // the first of the third octets in use
	cuts   [][]string // rules of the router
}

// skipped is why something cannot be measured here. It fails nothing.
type skipped struct{ reason string }

func (s skipped) Error() string { return "skipped: " + s.reason }

// undoTime is for one command that takes a part of the network away.
const undoTime = 10 * time.Second

// wire makes a network for the nodes, which goes when the lab is cleared.
func (l *lab) wire(ctx context.Context, nodes int) (*wire, error) {
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, skipped{"it needs the command ip, of iproute2"}
	}
	w := &wire{prefix: fmt.Sprintf("rb%d", os.Getpid()), octet: 4 * rand.IntN(60)}
	if err := l.namespace(ctx, w.router()); err != nil {
		return nil, skipped{fmt.Sprintf("it needs the right to make network namespaces: %v", err)}
	}
	if err := ip(ctx, "netns", "exec", w.router(), "sysctl", "-qw", "net.ipv4.ip_forward=1"); err != nil {
		return nil, err
	}
	if err := w.link(ctx, 0, ""); err != nil {
		return nil, err
	}
	for i := range nodes {
		if err := l.namespace(ctx, w.name(i)); err != nil {
			return nil, err
		}
		if err := w.link(ctx, i+1, w.name(i)); err != nil {
			return nil, err
		}
		if err := ip(ctx, "route", "add", w.address(i+1, 0)+"/24", "via", w.address(0, 1)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// namespace makes one. The links in it go with it.
func (l *lab) namespace(ctx context.Context, name string) error {
	if err := ip(ctx, "netns", "add", name); err != nil {
		return err
	}
	l.undo = append(l.undo, func() {
		ctx, cancel := context.WithTimeout(context.Background(), undoTime)
		defer cancel()
		if err := ip(ctx, "netns", "del", name); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
		}
	})
	return nil
}

func (w *wire) router() string { return w.prefix + "r" }

func (w *wire) name(node int) string { return fmt.Sprintf("%sn%d", w.prefix, node+1) }

// address is a host's in the network of a place: the place of this process is 0, a node's
// its number from 1 on. Host 1 is the router, 2 who lives there, 0 the network itself.
func (w *wire) address(place, host int) string {
	return fmt.Sprintf("198.18.%d.%d", w.octet+place, host)
}

func (w *wire) port(node, port int) string {
	return net.JoinHostPort(w.address(node+1, 2), fmt.Sprint(port))
}

// link connects a namespace, "" for this process's, to the router.
func (w *wire) link(ctx context.Context, place int, namespace string) error {
	inside, outside := fmt.Sprintf("%s-%di", w.prefix, place), fmt.Sprintf("%s-%do", w.prefix, place)
	within := func(args ...string) []string {
		if namespace == "" {
			return args
		}
		return append([]string{"-n", namespace}, args...)
	}
	commands := [][]string{
		{"link", "add", inside, "type", "veth", "peer", "name", outside, "netns", w.router()},
		{"-n", w.router(), "addr", "add", w.address(place, 1) + "/24", "dev", outside},
		{"-n", w.router(), "link", "set", outside, "up"},
	}
	if namespace != "" {
		commands = append(commands, []string{"link", "set", inside, "netns", namespace}, within("link", "set", "lo", "up"))
	}
	commands = append(commands,
		within("addr", "add", w.address(place, 2)+"/24", "dev", inside),
		within("link", "set", inside, "up"))
	if namespace != "" {
		commands = append(commands, within("route", "add", "default", "via", w.address(place, 1)))
	}
	for _, args := range commands {
		if err := ip(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// The ways in which a node's link can be cut.
type cut int

const (
	cutOff    cut = iota // nothing reaches the node, and it reaches nobody
	mute                 // it reaches nobody, and hears all
	deaf                 // nothing reaches it, and all hear it
	muteAmong            // as mute, towards the other nodes only: clients see no difference
	deafAmong            // as deaf, from the other nodes only
)

// rules are what the router drops, as its rules say it.
func (w *wire) rules(c cut, node, nodes int) (list [][]string) {
	at := w.address(node+1, 2)
	from, to := []string{"from", at}, []string{"to", at}
	switch c {
	case cutOff:
		return [][]string{from, to}
	case mute:
		return [][]string{from}
	case deaf:
		return [][]string{to}
	}
	for other := range nodes {
		switch peer := w.address(other+1, 2); {
		case other == node:
		case c == muteAmong:
			list = append(list, append(slices.Clone(from), "to", peer))
		default:
			list = append(list, append(slices.Clone(to), "from", peer))
		}
	}
	return list
}

// cut cuts a node's link, heal mends all that is cut.
func (w *wire) cut(ctx context.Context, c cut, node, nodes int) error {
	for _, rule := range w.rules(c, node, nodes) {
		rule = append(rule, "blackhole")
		if err := ip(ctx, slices.Concat([]string{"-n", w.router(), "rule", "add"}, rule)...); err != nil {
			return err
		}
		w.cuts = append(w.cuts, rule)
	}
	return nil
}

func (w *wire) heal(ctx context.Context) error {
	for _, rule := range w.cuts {
		if err := ip(ctx, slices.Concat([]string{"-n", w.router(), "rule", "del"}, rule)...); err != nil {
			return err
		}
	}
	w.cuts = nil
	return nil
}
