package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arrange returns args, program name first, in the order that the library wants:
// the verb, its flags, --, its arguments. It knows which flags take a value from
// the verb's definition. Flags that all clients share may stand before the verb.
// A negative number or time is an argument. A request for help drops everything else.
func arrange(app *cli.App, args []string) ([]string, error) {
	a := newArranger(app, args[0])
	if err := a.takeAll(args[1:]); err != nil {
		return nil, err
	}
	if len(a.args) > 0 && len(a.commands) > 0 {
		return nil, usagef("there is no command %q; see %s --help", a.args[0], strings.Join(a.path, " "))
	}
	if a.help {
		return append(a.path, "--help"), nil
	}
	return slices.Concat(a.path, a.flags, []string{"--"}, a.args), nil
}

type arranger struct {
	path     []string // program and verbs
	flags    []string
	args     []string
	commands []*cli.Command // the verbs that may come next
	known    []cli.Flag
	help     bool
}

func newArranger(app *cli.App, program string) *arranger {
	return &arranger{path: []string{program}, commands: app.Commands, known: append(clientFlags(), app.Flags...)}
}

func (a *arranger) takeAll(tokens []string) error {
	for len(tokens) > 0 {
		taken, err := a.take(tokens)
		if err != nil {
			return err
		}
		tokens = tokens[taken:]
	}
	return nil
}

// take puts the first of tokens, and what belongs to it, in its place, and returns
// how many that were.
func (a *arranger) take(tokens []string) (int, error) {
	token := tokens[0]
	switch {
	case token == "--":
		a.args = append(a.args, tokens[1:]...)
		return len(tokens), nil
	case isFlag(token):
		return a.takeFlag(tokens)
	}
	if i := slices.IndexFunc(a.commands, func(c *cli.Command) bool { return c.HasName(token) }); i >= 0 && len(a.args) == 0 {
		a.path = append(a.path, token)
		a.known = a.commands[i].Flags
		if len(a.commands[i].Subcommands) > 0 && flagIndex(a.known, "endpoints") < 0 {
			a.known = append(clientFlags(), a.known...)
		}
		a.commands = a.commands[i].Subcommands
		return 1, nil
	}
	a.args = append(a.args, token)
	return 1, nil
}

func (a *arranger) takeFlag(tokens []string) (int, error) {
	name, _, inline := strings.Cut(strings.TrimLeft(tokens[0], "-"), "=")
	i := flagIndex(a.known, name)
	if i < 0 {
		return 0, usagef("unknown flag %s; see %s --help", tokens[0], strings.Join(a.path, " "))
	}
	a.help = a.help || name == "help" || name == "h"
	if inline || !takesValue(a.known[i]) {
		a.flags = append(a.flags, tokens[0])
		return 1, nil
	}
	if len(tokens) < 2 {
		return 0, usagef("flag %s needs a value", tokens[0])
	}
	a.flags = append(a.flags, tokens[0], tokens[1])
	return 2, nil
}

// flagIndex returns where the flag stands that has the name, -1 if there is none.
func flagIndex(flags []cli.Flag, name string) int {
	return slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// isFlag reports whether token has the form of a flag. A lone dash, which stands for
// standard input, and what starts like a negative number or time are arguments.
func isFlag(token string) bool {
	return len(token) > 1 && token[0] == '-' && !strings.ContainsRune(".0123456789", rune(token[1]))
}
