package main

import (
	"context"
	"syscall"
	"time"
)

const (
	faultClients = "64"
	faultAfter   = 1500 * time.Millisecond // from the load's start
	killLoad     = 4 * time.Second
	silenceLoad  = 7 * time.Second
)

// killed kills each node in turn while others write, and reads the longest gap in the
// acknowledgements of the group for which it is longest.
func killed(ctx context.Context, c *cluster) ([]reading, error) {
	return c.eachFault(ctx, killLoad, func(node int) error { c.nodes[node].kill(); return nil }, c.restart)
}

// stopped does the same with nodes that stand still, and keep their connections.
func stopped(ctx context.Context, c *cluster) ([]reading, error) {
	stop := func(node int) error { return c.nodes[node].signal(syscall.SIGSTOP) }
	return c.eachFault(ctx, silenceLoad, stop, func(_ context.Context, node int) error {
		return c.nodes[node].signal(syscall.SIGCONT)
	})
}

// gaps is a case whose faults make gaps.
func gaps(name string, fault func(context.Context, *cluster) ([]reading, error)) measure {
	return measure{name, []string{gap}, fault}
}

// cuts are the ways in which a node's link is cut.
func cuts() []measure {
	return []measure{
		gaps("cut off", cutAway(cutOff)), gaps("mute", cutAway(mute)), gaps("deaf", cutAway(deaf)),
		gaps("mute among nodes", cutAway(muteAmong)), gaps("deaf among nodes", cutAway(deafAmong)),
	}
}

// cutAway does the same with nodes whose links are cut.
func cutAway(how cut) func(context.Context, *cluster) ([]reading, error) {
	return func(ctx context.Context, c *cluster) ([]reading, error) {
		fault := func(node int) error { return c.wire.cut(ctx, how, node, len(c.nodes)) }
		return c.eachFault(ctx, silenceLoad, fault, func(ctx context.Context, _ int) error { return c.wire.heal(ctx) })
	}
}

// eachFault brings a fault upon a node, as often as the flags say, and mends it.
func (c *cluster) eachFault(ctx context.Context, duration time.Duration, fault func(node int) error, mend func(context.Context, int) error) ([]reading, error) {
	var readings []reading
	for i := range c.lab.kills {
		node := i % len(c.nodes)
		if err := c.await(ctx, c.inPlace); err != nil {
			return nil, err
		}
		r, err := c.loadWith(ctx, duration, func() error { return fault(node) })
		if err != nil {
			return nil, err
		}
		readings = append(readings, r.read(gap, r.MaxGroupGap))
		if err := mend(ctx, node); err != nil {
			return nil, err
		}
	}
	return readings, c.await(ctx, c.inPlace)
}

// loadWith puts writes on the cluster, in the midst of which the fault happens.
func (c *cluster) loadWith(ctx context.Context, duration time.Duration, fault func() error) (loadResult, error) {
	var r loadResult
	ended := make(chan error, 1)
	go func() { // ends with the load, whose time is bounded
		var err error
		r, err = c.load(ctx, duration, 0, "--op", "set", "--clients", faultClients)
		ended <- err
	}()
	pause(ctx, faultAfter)
	failed := fault()
	if err := <-ended; err != nil {
		return r, err
	}
	return r, failed
}

const steadyClients = "256"

func steadyLoad(groups int) []measure {
	return []measure{{groupsCase(groups), []string{elections, opsPerS, p99, seconds}, steady}}
}

// steady puts on as many writes as the processor takes, for long, and counts elections:
// by how much the groups' terms have grown, the meta group's too.
func steady(ctx context.Context, c *cluster) ([]reading, error) {
	if err := c.await(ctx, c.inPlace); err != nil {
		return nil, err
	}
	before, err := c.terms(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.load(ctx, c.lab.steady, warmup, "--op", "set", "--clients", steadyClients)
	if err != nil {
		return nil, err
	}
	after, err := c.terms(ctx)
	return []reading{
		r.read(elections, float64(after-before)), r.read(opsPerS, r.OpsPerS), r.read(p99, r.P99), r.read(seconds, r.Seconds),
	}, err
}
