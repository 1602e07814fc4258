package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"
)

// console is what a command has of the world outside. Tests put their own in place.
type console struct {
	in          io.Reader
	out         io.Writer // data
	err         io.Writer // messages
	lookupEnv   func(name string) (value string, ok bool)
	outTerminal bool // out is a terminal
	errTerminal bool // err is a terminal
}

// run executes the command line args, program name first, reports its error, and
// returns the exit code.
func (con *console) run(ctx context.Context, args []string) int {
	err := con.execute(ctx, args)
	if err != nil {
		fmt.Fprintln(con.err, "ringraft:", err)
		con.tellTickets(err)
	}
	return exitCode(err)
}

func (con *console) execute(ctx context.Context, args []string) error {
	app := con.app()
	if words, ok := completing(args); ok {
		return con.complete(app, words)
	}
	args, err := arrange(app, args)
	if err != nil {
		return err
	}
	return app.RunContext(ctx, args)
}

// app returns the tree of verbs. The library's own help and version verbs are left
// out: they are shared between apps, and they would shadow keys of these names.
func (con *console) app() *cli.App {
	app := &cli.App{
		Name:  "ringraft",
		Usage: "a replicated cache that keeps its word through a failover",
		Description: "Flags stand before or after the arguments; -- ends them. Data goes to standard output,\n" +
			"messages to standard error. Exit codes: 0 done, 1 failed, 2 usage, 3 not found,\n" +
			"4 condition not met, 5 unavailable, 6 outcome unknown.",
		Version:        version(),
		HideVersion:    true,
		HideHelp:       true,
		Writer:         con.out,
		ErrWriter:      con.err,
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   onUsageError,
		Flags:          []cli.Flag{helpFlag(), versionFlag()},
		Action:         con.noVerb,
		Commands: []*cli.Command{
			con.devCommand(),
			con.serverCommand(),
			con.getCommand(),
			con.setCommand(),
			con.delCommand(),
			con.existsCommand(),
			con.expireCommand(),
			con.ttlCommand(),
			con.incrCommand(),
			con.txnCommand(),
			con.resolveCommand(),
			con.scanCommand(),
			con.importCommand(),
			con.exportCommand(),
			con.clusterCommand(),
			con.benchCommand(),
			con.helpCommand(),
			con.versionCommand(),
			con.completionCommand(),
		},
	}
	for _, cmd := range app.Commands {
		con.finish(cmd)
	}
	return app
}

// finish gives cmd, and the verbs below it, what every verb has.
func (con *console) finish(cmd *cli.Command) {
	cmd.HideHelp = true
	cmd.HideHelpCommand = true
	cmd.OnUsageError = onUsageError
	cmd.Flags = append(cmd.Flags, helpFlag())
	for _, f := range cmd.Flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true // all are off
		}
	}
	for _, sub := range cmd.Subcommands {
		con.finish(sub)
	}
	if cmd.Action == nil {
		cmd.Action = cli.ShowSubcommandHelp
		return
	}
	if cmd.Before == nil {
		cmd.Before = con.fillFromEnv
	}
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show this help", DisableDefaultText: true}
}

func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: "version", Usage: "print the program's version", DisableDefaultText: true}
}

// noVerb answers a command line without one.
func (con *console) noVerb(c *cli.Context) error {
	if c.Bool("version") {
		return con.printVersion()
	}
	return cli.ShowAppHelp(c)
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	return usagef("%w; see %s --help", err, c.Command.HelpName)
}

func (con *console) helpCommand() *cli.Command {
	return &cli.Command{
		Name:        "help",
		Usage:       "show the help of a command",
		ArgsUsage:   "[COMMAND…]",
		Description: "ringraft help cluster status",
		Action:      func(c *cli.Context) error { return con.help(c, c.Args().Slice()) },
	}
}

// help runs the command that path names with --help.
func (con *console) help(c *cli.Context, path []string) error {
	if slices.ContainsFunc(path, isFlag) {
		return usagef("help takes the names of a command, got %q", path)
	}
	args := append([]string{c.App.Name}, path...)
	return con.execute(c.Context, append(args, "--help"))
}
