package main

import (
	"context"
	"io"
	"time"

	"github.com/urfave/cli/v2"
)

const serverName = "server"

func (con *console) serverCommand() *cli.Command {
	return &cli.Command{
		Name:  serverName,
		Usage: "run one node",
		Description: "A node keeps its data in --data. The first start of a new cluster names all members:\n\n" +
			"   ringraft server --id n1 --data /var/lib/ringraft --native 127.0.0.1:7401 --peer 127.0.0.1:7411 \\\n" +
			"      --init n1=127.0.0.1:7411,n2=127.0.0.1:7412,n3=127.0.0.1:7413\n\n" +
			"Every flag may also come from the environment, --native from RINGRAFT_NATIVE, or from the\n" +
			"YAML file --config, whose keys are the flags' names. A flag outweighs the environment, the\n" +
			"environment the file. SIGTERM or SIGINT hands leaderships over and stops the node; a second\n" +
			"one ends it at once.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "id", Usage: "the node's `ID`: 1 to 64 of A-Z a-z 0-9 . _ -"},
			&cli.StringFlag{Name: "data", Usage: "`DIR` that holds all that the node keeps"},
			&cli.StringFlag{Name: "native", Usage: "`HOST:PORT` to listen on for clients"},
			&cli.StringFlag{Name: "peer", Usage: "`HOST:PORT` to listen on for other nodes"},
			&cli.StringFlag{Name: "resp", Usage: "`HOST:PORT` to listen on for Redis clients (default: none)"},
			&cli.StringFlag{Name: "http", Usage: "`HOST:PORT` to listen on for HTTP (default: no HTTP)"},
			&cli.StringFlag{Name: "http-origins", Usage: "`ORIGINS` of web pages that may use HTTP here, with commas between, or * for all (default: none)"},
			&cli.StringFlag{Name: "advertise-native", Usage: "`HOST:PORT` where clients find this node (default: --native)"},
			&cli.StringFlag{Name: "advertise-peer", Usage: "`HOST:PORT` where other nodes find this node (default: --peer)"},
			&cli.StringFlag{Name: "advertise-resp", Usage: "`HOST:PORT` where Redis clients find this node (default: --resp; where that is every interface, at the host of --advertise-native)"},
			&cli.StringFlag{Name: "init", Usage: "form a cluster, once, from exactly these members: `ID=PEER,ID=PEER,…`; ignored on a node that has state"},
			&cli.IntFlag{Name: "groups", Usage: "`NUMBER` of groups of a new cluster, 1 to 1024", Value: 4},
			&cli.IntFlag{Name: "replicas", Usage: "`NUMBER` of replicas of each group of a new cluster: 1, 3, 5 or 7, at most one per node", Value: 3},
			&cli.BoolFlag{Name: "insecure", Usage: "allow addresses that are not loopback: there is no encryption and no authentication"},
			&cli.StringFlag{Name: "min-free", Usage: "`SIZE` that must be free on the disk for writes to be taken; reads go on", Value: "64MiB"},
			logKindFlag(),
			&cli.DurationFlag{Name: "stop-timeout", Usage: "`TIME` that a stop may take to hand leaderships over", Value: 10 * time.Second},
			&cli.StringFlag{Name: "log-level", Usage: "least `LEVEL` that is logged: debug, info, warn or error", Value: "info"},
			&cli.StringFlag{Name: "log-format", Usage: "`FORMAT` of the log on standard error: text or json", Value: "text"},
			&cli.StringFlag{Name: "config", Usage: "YAML `FILE` of flags"},
			&cli.DurationFlag{Name: "heartbeat", Usage: "`TIME` after which a leader that is not heard of is replaced; for tests", Value: 500 * time.Millisecond, Hidden: true},
			&cli.BoolFlag{Name: "stop-with-stdin", Usage: "stop when standard input ends, so that the node does not outlive its parent", Hidden: true},
		},
		Before: con.fillServerFlags,
		Action: con.server,
	}
}

// fillServerFlags sets what the command line leaves out from the environment, and
// what both leave out from the file.
func (con *console) fillServerFlags(c *cli.Context) error {
	if err := con.fillFromEnv(c); err != nil {
		return err
	}
	return fillFromFile(c)
}

// server runs the node until a signal, a failure of its own or, where that is asked
// for, the end of standard input.
func (con *console) server(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
	cfg, err := newServerConfig(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(c.Context)
	defer stop()
	if c.Bool("stop-with-stdin") {
		// It ends with the process: a read of standard input cannot be called off.
		go func() {
			_, _ = io.Copy(io.Discard, con.in)
			stop()
		}()
	}
	return runNode(ctx, cfg, con.logger(c.String("log-level"), c.String("log-format")))
}
