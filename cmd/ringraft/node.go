package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
	"github.com/ringraft/ringraft/transport/clerk"
	"github.com/ringraft/ringraft/transport/peer"
)

// runNode runs a node until ctx ends, and returns the error that it fails with
// before. This is where the packages that do not know each other are joined.
func runNode(ctx context.Context, cfg serverConfig, log *slog.Logger) error {
	warnInsecure(log, cfg)
	p, err := openParts(cfg, log)
	if err != nil {
		return err
	}
	err = p.serve(ctx)
	var stall *stallError
	if errors.As(err, &stall) {
		return err // closing would wait for the disk; the process must end instead
	}
	stopped := make(chan error, 1)
	go func() { stopped <- errors.Join(err, p.stop(cfg.stopTimeout)) }()
	select {
	case err := <-stopped:
		return err
	case stall := <-p.stalled: // the same holds for a disk that hangs meanwhile
		return errors.Join(err, stall)
	}
}

// parts are what a running node is made of, in the order of their start.
type parts struct {
	log     *slog.Logger
	dir     *storage.Dir
	node    *shard.Node
	network *peer.Network
	clerk   *clerk.Clerk
	fronts  fronts

	self    peer.Identity
	stalled chan error
}

// stallError reports a disk that takes a write no more.
type stallError struct {
	what  string
	since time.Time
}

func (e *stallError) Error() string {
	return fmt.Sprintf("the disk hangs: %s has not returned since %s; ending so that other nodes take over", e.what, e.since.Format(time.RFC3339))
}

// openParts builds a node. It holds its directory and its ports when this returns.
func openParts(cfg serverConfig, log *slog.Logger) (*parts, error) {
	p := &parts{log: log, stalled: make(chan error, 1)}
	if err := p.open(cfg); err != nil {
		_ = p.close() // the error at hand says more
		return nil, err
	}
	return p, nil
}

func (p *parts) open(cfg serverConfig) (err error) {
	p.dir, err = storage.Open(cfg.data, storage.Config{Node: cfg.id, Log: cfg.log, Logger: p.log, OnStall: p.stall, MinFree: cfg.minFree})
	if err != nil {
		return fmt.Errorf("--data %s: %w", cfg.data, err)
	}
	p.self = peer.Identity{Cluster: p.dir.Identity().Cluster, Node: cfg.id, Incarnation: p.dir.Identity().Incarnation}
	p.node, err = shard.New(shard.Config{
		ID: cfg.id, Native: cfg.advertiseNative, Peer: cfg.advertisePeer, Redis: cfg.advertiseResp, Store: p.dir,
		Init: cfg.init, Groups: cfg.groups, Replicas: cfg.replicas, Logger: p.log,
		Clock: nodeClock(), Timing: shard.Timing{Heartbeat: cfg.heartbeat},
	})
	if err != nil {
		return err
	}
	if p.network, err = p.listenToPeers(cfg); err != nil {
		return err
	}
	return p.openFronts(cfg)
}

func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return l, nil
}

func (p *parts) listenToPeers(cfg serverConfig) (*peer.Network, error) {
	l, err := listen("peer", cfg.peer)
	if err != nil {
		return nil, err
	}
	network, err := peer.New(peer.Config{
		Self:     p.self,
		Listener: l,
		Address:  p.node.Address,
		Verify:   func(remote peer.Identity) error { return p.node.Verify(remote.Node, remote.Incarnation) },
		Handle: func(ctx context.Context, from peer.From, request []byte) ([]byte, error) {
			caller := shard.Caller{Node: from.Node, Incarnation: from.Incarnation, Member: from.Member}
			return p.node.HandleCall(ctx, caller, request)
		},
		Departed:      p.node.Departed,
		HeartbeatWait: shard.Timing{Heartbeat: cfg.heartbeat}.Beat(),
		Logger:        p.log,
	})
	if err != nil {
		l.Close()
	}
	return network, err
}

// stall is called by the storage's watchdog. The first stall ends the node.
func (p *parts) stall(what string, since time.Time) {
	select {
	case p.stalled <- &stallError{what, since}:
	default:
	}
}

// serve starts the node, serves until ctx ends or something fails, and returns that.
// SIGUSR1 makes it take snapshots.
func (p *parts) serve(ctx context.Context) error {
	if err := p.node.Start(ctx, peers{p.network, p}); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("starting node %s: %w", p.self.Node, err)
	}
	compact := make(chan os.Signal, 1)
	signal.Notify(compact, syscall.SIGUSR1)
	defer signal.Stop(compact)
	served := p.fronts.serve()
	p.log.Info("node is serving", "node", p.self.Node, "version", version())
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-p.node.Failed():
			return fmt.Errorf("node %s: %w", p.self.Node, err)
		case err := <-p.stalled:
			return err
		case err := <-served:
			return fmt.Errorf("serving clients: %w", err)
		case <-compact:
			p.node.Compact()
		}
	}
}

// stop hands leaderships over, lets clients have their answers, and closes
// everything. It gives up waiting for others after the timeout.
func (p *parts) stop(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	p.log.Info("node is stopping", "node", p.self.Node)
	if err := p.node.Drain(ctx); err != nil {
		p.log.Warn("some leaderships were not handed over", "err", err)
	}
	if err := p.fronts.shutdown(ctx); err != nil {
		p.log.Warn("some clients were cut off", "err", err)
	}
	err := p.close()
	p.log.Info("node has stopped", "node", p.self.Node)
	return err
}

// close closes what is open, in the reverse order of its start.
func (p *parts) close() error {
	errs := []error{p.fronts.close()}
	if p.clerk != nil {
		errs = append(errs, p.clerk.Close())
	}
	if p.node != nil {
		errs = append(errs, p.node.Close())
	}
	if p.network != nil {
		errs = append(errs, p.network.Close())
	}
	if p.dir != nil {
		errs = append(errs, p.dir.Close())
	}
	return errors.Join(errs...)
}

// peers is the network between nodes as a shard.Node wants it.
type peers struct {
	*peer.Network
	parts *parts
}

// Join makes the node introduce itself as a member of cluster.
func (p peers) Join(cluster string) {
	self := p.parts.self
	self.Cluster = cluster
	if self == p.parts.self {
		return
	}
	if err := p.SetSelf(self); err != nil {
		p.parts.log.Error("the node cannot introduce itself to its cluster", "cluster", cluster, "err", err)
	}
}
