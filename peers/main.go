// Peers measures Ringraft, and the systems that people would use in its place, side by
// side on one machine. It builds them, starts them one after another on free ports in
// directories of its own, puts the same load on each, and prints a table of ratios.
//
// It is a module of its own, so that what the others are made of never comes near the
// product's go.mod, and it knows Ringraft only by its command line:
//
//	rows.go     what is measured, of whom, and what is to be reached
//	cluster.go  a system that runs, and the load on it; a file for each system
//	process.go  its processes; lab.go what is left of it all: nothing
//	tally.go    the figures, their medians and ratios; plot.go draws them
//	busy.go     how busy the machine was meanwhile
//	load/       the load on etcd and NATS, a process of its own
//	echo/       what a server costs that only reads and writes
//	bare/       what entries cost that are only sent and stored
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	systems, rows []string
	runs, kills   int
	entries       int           // of the cluster of which snapshots are taken, and in the memory that is measured
	duration      time.Duration // of one load
	steady        time.Duration // of the load under which elections are counted
	ringraft      string        // path of the program
	module        string        // directory of this module
	dir           string        // where the lab is
	out           string        // path of the JSON
	plot, plots   string        // paths: JSON to draw, directory of the drawings
}

func parse(args []string) (options, error) {
	var o options
	var systems, rows string
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.StringVar(&systems, "systems", strings.Join(systemNames(), ","), "`LIST` of the systems to measure")
	f.StringVar(&rows, "rows", "", "`LIST` of the rows to measure (default: all): "+strings.Join(rowNames(), ", "))
	f.IntVar(&o.runs, "runs", 3, "`NUMBER` of runs, 1 to 100, of whose figures the median counts")
	f.IntVar(&o.kills, "kills", 3, "`NUMBER` of nodes that are killed or stopped in each run, 1 to 100")
	f.IntVar(&o.entries, "entries", 500_000, "`NUMBER` of records, 1,000 to 100 million, of which snapshots are taken, and whose memory is measured")
	f.DurationVar(&o.steady, "steady", 10*time.Second, "`TIME` of the load under which elections are counted, 1s to 24h")
	f.DurationVar(&o.duration, "time", 3*time.Second, "`TIME` of one load, 1s to 1h")
	f.StringVar(&o.ringraft, "ringraft", "bin/ringraft", "`PATH` of the program")
	f.StringVar(&o.module, "module", "peers", "`DIR` of this program's source, which the peers are built by")
	f.StringVar(&o.dir, "dir", "bench-out", "`DIR`, on a disk, for all that the systems write; it is removed")
	f.StringVar(&o.out, "out", "bench-out/bench.json", "`FILE` to write the figures to, as JSON")
	f.StringVar(&o.plot, "plot", "", "measure nothing, and draw the figures in `FILE`")
	f.StringVar(&o.plots, "plots", "docs/plots", "`DIR` to draw to")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.systems, err = choose("systems", systems, systemNames()); err != nil {
		return o, err
	}
	if o.rows, err = choose("rows", rows, rowNames()); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("there are flags only, got %q", f.Arg(0))
	case o.runs < 1 || o.runs > 100:
		return o, fmt.Errorf("-runs is %d; it must lie between 1 and 100", o.runs)
	case o.kills < 1 || o.kills > 100:
		return o, fmt.Errorf("-kills is %d; it must lie between 1 and 100", o.kills)
	case o.entries < 1000 || o.entries > 100_000_000:
		return o, fmt.Errorf("-entries is %d; it must lie between 1000 and 100000000", o.entries)
	case o.steady < time.Second || o.steady > 24*time.Hour:
		return o, fmt.Errorf("-steady is %v; it must lie between 1s and 24h", o.steady)
	case o.duration < time.Second || o.duration > time.Hour:
		return o, fmt.Errorf("-time is %v; it must lie between 1s and 1h", o.duration)
	}
	return o, nil
}

// choose returns the members of the list that text gives, all if it is empty.
func choose(flag, text string, known []string) ([]string, error) {
	if text == "" {
		return known, nil
	}
	chosen := strings.Split(text, ",")
	for _, name := range chosen {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("-%s has %q; there are %s", flag, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case o.plot != "":
		return drawAll(o.plot, o.plots)
	}
	l, err := openLab(o)
	if err != nil {
		return err
	}
	t, err := l.measureAll(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted") // what failed, failed for that
	}
	err = errors.Join(err, l.close())
	if len(t.Figures) > 0 { // also what was measured before a failure
		err = errors.Join(err, t.print(os.Stdout), t.write(o.out))
	}
	return err
}

// measureAll runs all that was chosen, run by run, so that what is compared is measured
// within minutes.
func (l *lab) measureAll(ctx context.Context) (*tally, error) {
	t := newTally(l.options)
	var chosen []scenario
	for _, s := range scenarios() {
		if slices.Contains(l.rows, s.row) && slices.Contains(l.systems, s.system) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return t, fmt.Errorf("none of the rows %s has a measure of %s", strings.Join(l.rows, ", "), strings.Join(l.systems, ", "))
	}
	if err := l.build(ctx); err != nil {
		return t, err
	}
	var err error
	if t.Versions, err = l.versions(ctx); err != nil {
		return t, err
	}
	for n := 1; n <= l.runs; n++ {
		for _, s := range chosen {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s, %s\n", n, l.runs, s.row, strings.TrimSpace(s.system+" "+s.setup))
			err := l.measure(ctx, s, t)
			var missing skipped
			if errors.As(err, &missing) && ctx.Err() == nil {
				t.skip(fmt.Sprintf("%s, %s: %v", s.row, s.setup, missing))
				continue
			}
			if err != nil {
				return t, fmt.Errorf("%s of %s: %w", s.row, s.system, err)
			}
		}
	}
	return t, nil
}

// measure starts the scenario's system, measures its cases and stops it.
func (l *lab) measure(ctx context.Context, s scenario, t *tally) error {
	c, err := s.start(ctx, l)
	defer l.clear()
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	for _, m := range s.cases {
		readings, err := m.read(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, r := range readings {
			t.add(s, m.name, r)
		}
	}
	return nil
}
