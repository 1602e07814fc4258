package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"github.com/urfave/cli/v2"
)

func (con *console) devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "run a whole cluster on this machine, to try things out",
		Description: "Every node is a process of its own, a child of this one. Its id is printed: kill it with\n" +
			"kill -9 and watch; it is started again after a few seconds. The data stays in --data; the\n" +
			"logs are there too. Ctrl-C stops all nodes. Redis clients find the nodes at 6379, 6380 and so on,\n" +
			"or elsewhere with --resp-port or --base-port.\n\n" +
			"ringraft dev\nringraft dev --nodes 5 --base-port 9000 --data ./five",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "nodes", Usage: "`NUMBER` of nodes, 1 to 9", Value: 3},
			&cli.IntFlag{Name: "groups", Usage: "`NUMBER` of groups of a new cluster, 1 to 1024", Value: 4},
			&cli.IntFlag{Name: "replicas", Usage: "`NUMBER` of replicas of each group of a new cluster: 1, 3, 5 or 7, at most one per node", Value: 3},
			logKindFlag(),
			&cli.StringFlag{Name: "data", Usage: "`DIR` of the nodes' data and logs", Value: "./.ringraft"},
			&cli.IntFlag{Name: "base-port", Usage: "`PORT`: node i listens for clients on PORT+i, for other nodes on PORT+10+i, for HTTP on PORT+30+i", Value: 7400},
			&cli.IntFlag{Name: "resp-port", Usage: "`PORT`: node i listens for Redis clients on PORT+i-1; 0 is nowhere (default: 6379, with --base-port that port + 21)"},
		},
		Action: con.dev,
	}
}

// devCluster is a cluster of child processes.
type devCluster struct {
	typed string       // how the program was called
	data  string       // directory
	lock  *flock.Flock // held on data while the cluster runs
	nodes []*devNode
	mu    sync.Mutex
	out   io.Writer // guarded by mu
}

// say prints a line. Anybody may call it.
func (d *devCluster) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, format+"\n", args...)
}

func (con *console) dev(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
	cluster, err := con.newDevCluster(c)
	if err != nil {
		return err
	}
	if err := cluster.lockData(); err != nil {
		return err
	}
	defer cluster.lock.Close()
	if err := cluster.checkPorts(); err != nil {
		return err
	}
	return cluster.run(c.Context)
}

func (con *console) newDevCluster(c *cli.Context) (*devCluster, error) {
	if err := checkDevFlags(c); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to start nodes with: %w", err)
	}
	cluster := &devCluster{typed: os.Args[0], data: c.String("data"), out: con.out}
	cluster.lock = flock.New(filepath.Join(cluster.data, "lock"))
	if err := checkDevData(cluster.data, c.Int("nodes")); err != nil {
		return nil, err
	}
	var members []string
	for i := 1; i <= c.Int("nodes"); i++ {
		id, base := "n"+strconv.Itoa(i), c.Int("base-port")+i
		n := &devNode{
			id:      id,
			native:  loopbackAt(base),
			peer:    loopbackAt(base + 10),
			http:    loopbackAt(base + 30),
			log:     filepath.Join(cluster.data, id+".log"),
			program: program,
			away:    killedFor,
			say:     cluster.say,
		}
		if first := respPort(c); first != 0 {
			n.resp = loopbackAt(first + i - 1)
		}
		members = append(members, id+"="+n.peer)
		cluster.nodes = append(cluster.nodes, n)
	}
	for _, n := range cluster.nodes {
		n.args = []string{
			serverName, "--id", n.id, "--data", filepath.Join(cluster.data, n.id),
			"--native", n.native, "--peer", n.peer, "--http", n.http, "--init", strings.Join(members, ","),
			"--groups", strconv.Itoa(c.Int("groups")), "--replicas", strconv.Itoa(c.Int("replicas")),
			"--stop-with-stdin",
		}
		if kind := c.String("log"); kind != "" {
			n.args = append(n.args, "--log", kind)
		}
	}
	return cluster, cluster.openToRedis(c.IsSet("resp-port"))
}

func loopbackAt(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// respPort returns the port of the first node for Redis clients, 0 for none.
func respPort(c *cli.Context) int {
	switch {
	case c.IsSet("resp-port"):
		return c.Int("resp-port")
	case c.IsSet("base-port"):
		return c.Int("base-port") + 21
	}
	return 6379
}

// openToRedis has the nodes listen for Redis clients. Without it, if one of the ports is
// taken that nobody has asked for.
func (d *devCluster) openToRedis(asked bool) error {
	for _, n := range d.nodes {
		if n.resp == "" {
			return nil
		}
		if err := free(n.resp); err != nil {
			if asked {
				return fmt.Errorf("node %s cannot listen on %s; choose another --resp-port: %w", n.id, n.resp, err)
			}
			d.say("no node listens for Redis clients, since %s is taken; choose another port with --resp-port", n.resp)
			d.closeToRedis()
			return nil
		}
	}
	for _, n := range d.nodes {
		n.args = append(n.args, "--resp", n.resp)
	}
	return nil
}

func (d *devCluster) closeToRedis() {
	for _, n := range d.nodes {
		n.resp = ""
	}
}

// free returns nil if nobody listens on addr.
func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

func checkDevFlags(c *cli.Context) error {
	if err := within("nodes", c.Int("nodes"), 1, 9); err != nil {
		return err
	}
	if err := within("groups", c.Int("groups"), 1, 1024); err != nil {
		return err
	}
	if _, err := logKind(c); err != nil {
		return err
	}
	if err := oneOf("replicas", strconv.Itoa(c.Int("replicas")), "1", "3", "5", "7"); err != nil {
		return err
	}
	if err := within("resp-port", c.Int("resp-port"), 0, 65535-8); err != nil {
		return err
	}
	return within("base-port", c.Int("base-port"), 1, 65535-39)
}

// checkDevData refuses a directory that holds a cluster of another size, whose
// members are set.
func checkDevData(dir string, nodes int) error {
	if dir == "" {
		return usagef("--data is empty; it names the directory of the nodes' data and logs")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	held := 0
	for i := 1; i <= 9; i++ {
		if _, err := os.Stat(filepath.Join(dir, "n"+strconv.Itoa(i))); err == nil {
			held++
		}
	}
	if held != 0 && held != nodes {
		return usagef("--data %s holds a cluster of %d nodes: say --nodes %d, or choose another directory", dir, held, held)
	}
	return nil
}

// lockData keeps a second cluster out of the directory, whatever its ports.
func (d *devCluster) lockData() error {
	switch held, err := d.lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("--data: %w", err)
	case !held:
		return fmt.Errorf("a cluster runs in --data %s already: stop it, or choose another directory", d.data)
	}
	return nil
}

// checkPorts finds out, before anything starts, whether a port is taken.
func (d *devCluster) checkPorts() error {
	for _, n := range d.nodes {
		for _, addr := range []string{n.native, n.peer, n.http} {
			if err := free(addr); err != nil {
				return fmt.Errorf("node %s cannot listen on %s; choose other ports with --base-port: %w", n.id, addr, err)
			}
		}
	}
	return nil
}

// run starts the nodes, keeps them running until ctx ends, and stops them.
func (d *devCluster) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, n := range d.nodes {
		if err := n.start(); err != nil {
			stop()
			return err
		}
		d.say("%s  pid %-7d clients %s  peers %s  %shttp %s  log %s", n.id, n.pid.Load(), n.native, n.peer, n.redisColumn(), n.http, n.log)
		wg.Go(func() { n.keep(ctx) })
	}
	if d.awaitReady(ctx) {
		d.say("%s", d.tour())
	}
	<-ctx.Done()
	d.say("stopping")
	return nil
}

// awaitReady returns once every group has a leader, or false when ctx ends first.
func (d *devCluster) awaitReady(ctx context.Context) bool {
	for ctx.Err() == nil {
		if err := ready(ctx, d.endpoints()); err == nil {
			return true
		}
		pause(ctx, readyPoll)
	}
	return false
}

func (d *devCluster) endpoints() []string {
	var list []string
	for _, n := range d.nodes {
		list = append(list, n.native)
	}
	return list
}

// tour says what to type next, in the same folder.
func (d *devCluster) tour() string {
	verb := d.typed
	if list := strings.Join(d.endpoints(), ","); list != defaultEndpoints {
		verb += " --endpoints " + list
	}
	return fmt.Sprintf(`ready. In another terminal:

  %[1]s set greeting hello
  %[1]s get greeting
  curl http://%[5]s/greeting
  kill -9 %[2]d                      # node %[3]s; it is started again after a few seconds
  %[1]s get greeting
  %[1]s cluster status

Ctrl-C stops the cluster; the data stays in %[4]s.`, verb, d.nodes[0].pid.Load(), d.nodes[0].id, d.data, d.nodes[0].http)
}
