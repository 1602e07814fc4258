package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

func main() {
	if mayWakeLate(os.Args[1:]) {
		relaxTimers()
	}
	os.Exit(mainCode())
}

// mayWakeLate reports whether the command computes much and waits for no moment that a
// millisecond matters to: a node, and a load whose requests are not due at a rate.
func mayWakeLate(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return args[0] == serverName || args[0] == benchName && !slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(strings.TrimLeft(arg, "-"), "rate")
	})
}

// mainCode runs the command. The first SIGINT or SIGTERM asks it to end; the second
// one ends the process, as signals do when nobody catches them.
func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	con := &console{
		in:          os.Stdin,
		out:         os.Stdout,
		err:         os.Stderr,
		lookupEnv:   os.LookupEnv,
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	return con.run(ctx, os.Args)
}
