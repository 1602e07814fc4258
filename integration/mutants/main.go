// Command mutants proves that the tests find faults. It plants each fault of
// internal/mutant in a build of its own and runs the nets that must catch it, a few tests
// each. A net catches a fault if one of its tests fails; a build that fails, or tests that
// run out of time before one does, catch nothing. A fault counts as caught if all its
// nets have caught it.
//
// It prints a line for each fault, then "N planted, N caught", and exits with 1 unless
// these are equal. Arguments are the names of the faults to plant; without any, it
// plants all. The tests must pass while nothing is planted: it looks first.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// budget is the most that the tests of one fault may take, their build included.
const budget = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen, err := choose(os.Args[1:])
	if err == nil {
		err = withScratch(func() error { return check(ctx, chosen) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// withScratch calls do with a directory for temporary files of its own: tests that fail
// leave pictures.
func withScratch(do func() error) error {
	dir, err := os.MkdirTemp("", "ringraft-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	return do()
}

// choose returns the plants of these names, all without any.
func choose(names []string) ([]plant, error) {
	if len(names) == 0 {
		return plants, nil
	}
	var chosen []plant
	for _, name := range names {
		p, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("there is no fault %q", name)
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

func find(name string) (plant, bool) {
	for _, p := range plants {
		if p.fault == name {
			return p, true
		}
	}
	return plant{}, false
}

// check plants one fault after the other.
func check(ctx context.Context, chosen []plant) error {
	began := time.Now()
	skipped, err := passWithout(ctx, chosen)
	if err != nil {
		return err
	}
	fmt.Printf("nothing planted: the tests pass  %s\n", seconds(began))
	planted, caught := 0, 0
	for _, p := range chosen {
		if name, ok := p.needs(skipped); ok {
			fmt.Printf("%-16s not planted: %s is skipped here\n", p.fault, name)
			continue
		}
		planted++
		began := time.Now()
		verdict, ok := try(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ok {
			caught++
		}
		fmt.Printf("%-16s %s  %s\n", p.fault, verdict, seconds(began))
	}
	fmt.Printf("%d planted, %d caught\n", planted, caught)
	if caught < planted {
		return fmt.Errorf("%d faults passed the tests", planted-caught)
	}
	return nil
}

func seconds(since time.Time) string { return fmt.Sprintf("(%.0f s)", time.Since(since).Seconds()) }

// passWithout runs all tests of the plants in a build without faults. It returns those
// that are skipped here.
func passWithout(ctx context.Context, chosen []plant) (skipped map[string]bool, err error) {
	skipped = map[string]bool{}
	tests := map[string][]string{} // by package
	for _, p := range chosen {
		for _, n := range p.nets {
			tests[n.pkg] = append(tests[n.pkg], n.tests...)
		}
	}
	for pkg, names := range tests {
		o, err := run(ctx, "", net{pkg, names})
		switch {
		case err != nil:
			return nil, err
		case len(o.failed) > 0:
			return nil, fmt.Errorf("%s fails while nothing is planted", o.failed[0])
		}
		for _, name := range names {
			if o.skipped[name] {
				skipped[name] = true
			} else if !o.passed[name] {
				return nil, fmt.Errorf("%s has no test %s that passes while nothing is planted", pkg, name)
			}
		}
	}
	return skipped, nil
}

// try plants p. The verdict names a test that failed in each net, or why one caught
// nothing.
func try(ctx context.Context, p plant) (verdict string, caught bool) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	var by []string
	for _, n := range p.nets {
		o, err := run(ctx, p.fault, n)
		switch {
		case err != nil:
			return "NOT CAUGHT: " + err.Error(), false
		case len(o.failed) == 0:
			return fmt.Sprintf("NOT CAUGHT by %s %v", n.pkg, n.tests), false
		}
		by = append(by, n.pkg+" "+o.failed[0])
	}
	return "caught by " + strings.Join(by, ", "), true
}
