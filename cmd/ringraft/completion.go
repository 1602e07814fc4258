package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionFlag, as the first argument, asks what may follow the words behind it. In
// that place it is never a verb's argument: a shell that completes runs no verb.
const completionFlag = "--generate-completion"

// The scripts ask the program itself what may come next. They give it the words typed
// so far, of which the last, perhaps empty, is the one under the cursor.
const (
	bashCompletion = `_ringraft() {
	local cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" --generate-completion "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$cur"))
}
complete -o default -F _ringraft ringraft
`
	zshCompletion = `#compdef ringraft
_ringraft() {
	compadd -- ${(f)"$("${words[1]}" --generate-completion "${(@)words[2,CURRENT]}" 2>/dev/null)"}
}
compdef _ringraft ringraft
`
	fishCompletion = `function __ringraft_complete
	set -l typed (commandline -opc)
	set -l cur (commandline -ct)
	set -a typed "$cur"
	command $typed[1] --generate-completion $typed[2..-1] 2>/dev/null
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

// completing reports whether the shell asks for completions, and of which words, the
// last of which is under the cursor.
func completing(args []string) (words []string, ok bool) {
	if len(args) < 3 || args[1] != completionFlag {
		return nil, false
	}
	return args[2:], true
}

// complete prints what may stand in the place of the last of words: the flags if it
// starts with a dash, else the verbs. After -- nothing is known.
func (con *console) complete(app *cli.App, words []string) error {
	a := newArranger(app, app.Name)
	before, word := words[:len(words)-1], words[len(words)-1]
	if len(before) > 0 && before[0] == "help" {
		before = before[1:] // it takes the names of verbs
	}
	if slices.Contains(before, "--") || a.takeAll(before) != nil {
		return nil
	}
	if strings.HasPrefix(word, "-") {
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
