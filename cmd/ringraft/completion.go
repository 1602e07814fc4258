package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionFlag is what the scripts put behind the words typed so far. As a value it
// can be given after --.
const completionFlag = "--generate-completion"

// The scripts ask the program itself for what may come next: the words typed so far
// and, if it starts with a dash, the one under the cursor.
const (
	bashCompletion = `_ringraft() {
	local cur=${COMP_WORDS[COMP_CWORD]}
	local typed=("${COMP_WORDS[@]:0:COMP_CWORD}")
	[[ $cur == -* ]] && typed+=("$cur")
	COMPREPLY=($(compgen -W "$("${typed[@]}" --generate-completion 2>/dev/null)" -- "$cur"))
}
complete -o default -F _ringraft ringraft
`
	zshCompletion = `#compdef ringraft
_ringraft() {
	local -a typed=("${(@)words[1,CURRENT-1]}")
	[[ ${words[CURRENT]} == -* ]] && typed+=("${words[CURRENT]}")
	compadd -- ${(f)"$("${typed[@]}" --generate-completion 2>/dev/null)"}
}
compdef _ringraft ringraft
`
	fishCompletion = `function __ringraft_complete
	set -l typed (commandline -opc) (commandline -ct | string match -- '-*')
	command $typed --generate-completion 2>/dev/null
end
complete -c ringraft -a '(__ringraft_complete)'
`
)

func (con *console) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell's completion script",
		ArgsUsage: "bash|zsh|fish",
		Description: "source <(ringraft completion bash)\n" +
			"source <(ringraft completion zsh)\n" +
			"ringraft completion fish | source",
		Action: con.completion,
	}
}

func (con *console) completion(c *cli.Context) error {
	args, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	script, ok := scripts[args[0]]
	if !ok {
		return usagef("there is no completion for %q; the shells are bash, zsh and fish", args[0])
	}
	_, err = fmt.Fprint(con.out, script)
	return err
}

// completing reports whether the shell asks for completions, and of what.
func completing(args []string) (typed []string, ok bool) {
	last := len(args) - 1
	return args[:last], args[last] == completionFlag && !slices.Contains(args, "--")
}

// complete prints what may follow the words typed: the flags if the last one starts
// with a dash, else the verbs.
func (con *console) complete(app *cli.App, typed []string) error {
	a := newArranger(app, typed[0])
	words := typed[1:]
	flags := len(words) > 0 && strings.HasPrefix(words[len(words)-1], "-")
	if flags {
		words = words[:len(words)-1]
	}
	if a.takeAll(words) != nil {
		return nil // the words are wrong already: nothing may follow
	}
	if flags {
		return con.printFlagNames(a.known)
	}
	for _, cmd := range a.commands {
		if err := con.print(cmd.Name); err != nil {
			return err
		}
	}
	return nil
}

func (con *console) printFlagNames(flags []cli.Flag) error {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		if err := con.print("--" + f.Names()[0]); err != nil {
			return err
		}
	}
	return nil
}
