package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	bucket   = "bench"
	replicas = 3
)

// natsKV is a bucket of three replicas on disk, reached over several connections to
// the server that leads it.
type natsKV struct {
	conns   []*nats.Conn
	buckets []jetstream.KeyValue
	next    atomic.Uint64
}

func connectNATS(ctx context.Context, endpoints []string, connections int) (store, error) {
	leader, err := natsLeader(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	n := &natsKV{}
	for range connections {
		if err := n.add(ctx, leader); err != nil {
			n.close()
			return nil, fmt.Errorf("connecting to NATS: %w", err)
		}
	}
	return n, nil
}

func (n *natsKV) add(ctx context.Context, address string) error {
	conn, js, err := natsConn(address)
	if err != nil {
		return err
	}
	n.conns = append(n.conns, conn)
	kv, err := js.KeyValue(ctx, bucket)
	n.buckets = append(n.buckets, kv)
	return err
}

func natsConn(address string) (*nats.Conn, jetstream.JetStream, error) {
	conn, err := nats.Connect("nats://" + address)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
	}
	return conn, js, err
}

// natsLeader makes the bucket, once the servers are ready to, and returns the address
// of the one that leads it.
func natsLeader(ctx context.Context, endpoints []string) (string, error) {
	reason := errors.New("no leader yet")
	for ctx.Err() == nil {
		for _, e := range endpoints {
			leads, err := natsLeads(ctx, e)
			if leads {
				return e, nil
			}
			if err != nil {
				reason = err
			}
		}
		pause(ctx, retryEvery)
	}
	return "", fmt.Errorf("waiting for the leader of NATS's bucket: %w: %w", ctx.Err(), reason)
}

// natsLeads reports whether the server at address leads the bucket, which it makes if
// it is not there.
func natsLeads(ctx context.Context, address string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, js, err := natsConn(address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	_, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: bucket, Replicas: replicas, Storage: jetstream.FileStorage, History: 1,
	})
	if err != nil {
		return false, err
	}
	stream, err := js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return false, err
	}
	cluster := stream.CachedInfo().Cluster
	return cluster != nil && strings.EqualFold(cluster.Leader, conn.ConnectedServerName()), nil
}

func (n *natsKV) bucket() jetstream.KeyValue {
	return n.buckets[n.next.Add(1)%uint64(len(n.buckets))]
}

func (n *natsKV) set(ctx context.Context, key string, value []byte) error {
	_, err := n.bucket().Put(ctx, key, value)
	return err
}

func (n *natsKV) get(ctx context.Context, key string) error {
	_, err := n.bucket().Get(ctx, key)
	return err
}

func (n *natsKV) close() {
	for _, c := range n.conns {
		c.Close()
	}
}
