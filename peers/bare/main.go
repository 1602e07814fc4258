// Bare replicates bytes among three processes and does nothing else: what it costs to have
// entries on disk at a majority, without Raft, state machines or clients. A leader sends an
// entry to both followers and writes it itself; all sync it; when its own disk and a
// follower have it, the leader goes on to the next. It prints as JSON how many entries that
// were, of all leaders.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

const nodes = 3

// settings are the same for all processes.
type settings struct {
	duration, warmup time.Duration
	leaders, bytes   int
	dir              string

	node  int    // the number of the process; -1 starts them
	peers string // where they listen, by number
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.node >= 0 {
		go func() {
			_, _ = io.Copy(io.Discard, in) // ends when who started it has
			os.Exit(1)
		}()
		return s.serve(out)
	}
	return s.measure(args, out)
}

func parse(args []string) (s settings, err error) {
	f := flag.NewFlagSet("bare", flag.ContinueOnError)
	f.DurationVar(&s.duration, "duration", 3*time.Second, "how long to measure")
	f.DurationVar(&s.warmup, "warmup", time.Second, "how long to run before")
	f.IntVar(&s.leaders, "leaders", 1, "how many of the three processes lead")
	f.IntVar(&s.bytes, "bytes", 32_000, "bytes of an entry")
	f.StringVar(&s.dir, "dir", ".", "where the files of the processes are while they run")
	f.IntVar(&s.node, "node", -1, "number of this process; for itself only")
	f.StringVar(&s.peers, "peers", "", "where the processes listen; for itself only")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("it takes no %q", f.Arg(0))
	case s.leaders < 1 || s.leaders > nodes:
		return s, fmt.Errorf("--leaders is %d, it can be 1 to %d", s.leaders, nodes)
	case s.bytes < 1 || s.bytes > room/maxBehind:
		return s, fmt.Errorf("--bytes is %d, it can be 1 to %d", s.bytes, room/maxBehind)
	case s.duration <= 0 || s.warmup < 0:
		return s, fmt.Errorf("--duration and --warmup are %v and %v, they cannot be less than 1ns and 0s", s.duration, s.warmup)
	}
	return s, nil
}

// measure starts the processes, and adds up what they tell.
func (s settings) measure(args []string, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	sockets, addresses := make([]*os.File, nodes), make([]string, nodes)
	for i := range nodes {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		defer l.Close()
		if sockets[i], err = l.File(); err != nil {
			return err
		}
		defer sockets[i].Close()
		addresses[i] = l.Addr().String()
	}
	relaxTimers()
	var all work
	var perSecond float64
	var told []io.Reader
	for i := range nodes {
		own := append(args[:len(args):len(args)], "--node", fmt.Sprint(i), "--peers", strings.Join(addresses, ","))
		cmd := exec.Command(program, own...)
		cmd.ExtraFiles, cmd.Stderr = []*os.File{sockets[i]}, os.Stderr
		end, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		defer end.Close()
		words, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() { end.Close(); _ = cmd.Wait() }()
		told = append(told, words)
	}
	for i, words := range told {
		var did work
		if _, err := fmt.Fscan(bufio.NewReader(words), &did.entries, &did.seconds); err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
		if did.entries > 0 {
			perSecond += float64(did.entries) / did.seconds
		}
		all.entries += did.entries
		all.seconds = max(all.seconds, did.seconds)
	}
	return json.NewEncoder(out).Encode(map[string]any{"ops_per_s": perSecond, "ok": all.entries, "seconds": all.seconds})
}
