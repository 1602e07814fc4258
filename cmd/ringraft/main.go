package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == serverName {
		relaxTimers()
	}
	os.Exit(mainCode())
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
