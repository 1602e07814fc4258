// Load puts a closed loop of requests on etcd or NATS, through their own Go clients,
// and prints what it measured as ringraft bench does. It takes the flags of ringraft
// bench that it needs.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// connectTimeout bounds how long a cluster that has just been started may take to serve.
const connectTimeout = 60 * time.Second

// store is what a load needs of a system's client. Any number of goroutines call it.
type store interface {
	set(ctx context.Context, key string, value []byte) error
	get(ctx context.Context, key string) error // the latest value
	close()
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	system := flag.String("system", "", "`SYSTEM`: etcd or nats")
	endpoints := flag.String("endpoints", "", "`HOST:PORT,…` of its nodes")
	connections := flag.Int("connections", 8, "`NUMBER` of connections that the clients share")
	var l load
	flag.StringVar(&l.op, "op", "set", "`OPERATION`: set or get")
	flag.IntVar(&l.clients, "clients", 64, "`NUMBER` of clients")
	flag.IntVar(&l.keys, "keys", 100_000, "`NUMBER` of keys")
	flag.IntVar(&l.valueSize, "value-size", 128, "`BYTES` of a value")
	flag.DurationVar(&l.duration, "duration", 10*time.Second, "`TIME` to measure for")
	flag.DurationVar(&l.warmup, "warmup", 2*time.Second, "`TIME` to run for before measuring")
	flag.Parse()
	if err := l.check(*connections); err != nil {
		return err
	}
	s, err := connect(ctx, *system, strings.Split(*endpoints, ","), *connections)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := l.run(ctx, s)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// connect waits for the system at the endpoints and returns its client.
func connect(ctx context.Context, system string, endpoints []string, connections int) (store, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	switch system {
	case "etcd":
		return connectEtcd(ctx, endpoints, connections)
	case "nats":
		return connectNATS(ctx, endpoints, connections)
	}
	return nil, fmt.Errorf("-system is %q; it is etcd or nats", system)
}
