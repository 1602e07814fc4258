package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const retryEvery = 200 * time.Millisecond

// etcd talks to the leader over several connections. A client of etcd has one.
type etcd struct {
	clients []*clientv3.Client
	next    atomic.Uint64
}

func connectEtcd(ctx context.Context, endpoints []string, connections int) (store, error) {
	leader, err := etcdLeader(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	e := &etcd{}
	for range connections {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{leader}, DialTimeout: requestTimeout})
		if err != nil {
			e.close()
			return nil, fmt.Errorf("connecting to etcd: %w", err)
		}
		e.clients = append(e.clients, c)
	}
	return e, nil
}

// etcdLeader waits for a leader and returns its endpoint.
func etcdLeader(ctx context.Context, endpoints []string) (string, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	if err != nil {
		return "", fmt.Errorf("connecting to etcd: %w", err)
	}
	defer c.Close()
	reason := errors.New("no leader yet")
	for ctx.Err() == nil {
		for _, e := range endpoints {
			asked, cancel := context.WithTimeout(ctx, time.Second)
			status, err := c.Status(asked, e)
			cancel()
			switch {
			case err != nil:
				reason = err
			case status.Leader == status.Header.MemberId:
				return e, nil
			}
		}
		pause(ctx, retryEvery)
	}
	return "", fmt.Errorf("waiting for etcd's leader: %w: %w", ctx.Err(), reason)
}

func (e *etcd) client() *clientv3.Client {
	return e.clients[e.next.Add(1)%uint64(len(e.clients))]
}

func (e *etcd) set(ctx context.Context, key string, value []byte) error {
	_, err := e.client().Put(ctx, key, string(value))
	return err
}

// get is linearizable, etcd's own default.
func (e *etcd) get(ctx context.Context, key string) error {
	_, err := e.client().Get(ctx, key)
	return err
}

func (e *etcd) close() {
	for _, c := range e.clients {
		_ = c.Close() // the process ends
	}
}
