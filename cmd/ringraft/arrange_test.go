package main

import (
	"slices"
	"strings"
	"testing"
)

func TestArrangePutsFlagsBeforeArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, typed, want string }{
		{"flags first", "get --read local k", "get --read local -- k"},
		{"flags last", "get k --read local", "get --read local -- k"},
		{"flags around", "get -o json k --read=local", "get -o json --read=local -- k"},
		{"flags before the verb", "-o json --timeout 1s get k", "get -o json --timeout 1s -- k"},
		{"flags before a verb's verb", "cluster -o json status", "cluster status -o json --"},
		{"a switch takes no value", "set --protect k v", "set --protect -- k v"},
		{"a switch behind", "set k v --keep-ttl", "set --keep-ttl -- k v"},
		{"a value that looks like a flag", "set k --ttl -5s v", "set --ttl -5s -- k v"},
		{"two dashes end the flags", "set k -- --ttl", "set -- k --ttl"},
		{"only the first two dashes do", "set -- -- --", "set -- -- --"},
		{"a verb's name as a key", "get get", "get -- get"},
		{"help as a key", "get help", "get -- help"},
		{"a lone dash", "import -", "import -- -"},
		{"a negative number", "incr k -5", "incr -- k -5"},
		{"a negative fraction", "set k -.5e3 --protect", "set --protect -- k -.5e3"},
		{"a negative time", "expire k -5s", "expire -- k -5s"},
		{"help wins", "set --ttl 1s k --help", "set --help"},
		{"no arguments", "cluster status", "cluster status --"},
		{"nothing", "", "--"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := arrange((&console{}).app(), append([]string{"ringraft"}, strings.Fields(c.typed)...))
			want := append([]string{"ringraft"}, strings.Fields(c.want)...)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("arrange(%q) = %q, %v; want %q", c.typed, got, err, want)
			}
		})
	}
}

func TestArrangeKeepsEmptyArguments(t *testing.T) {
	t.Parallel()
	got, err := arrange((&console{}).app(), []string{"ringraft", "set", "", "", "--protect"})
	if want := []string{"ringraft", "set", "--protect", "--", "", ""}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestArrangeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, typed, message string }{
		{"a flag that nobody knows", "get k --raed local", "unknown flag --raed"},
		{"another verb's flag", "get k --ttl 1s", "unknown flag --ttl"},
		{"a word with a dash", "incr k -five", "unknown flag -five"},
		{"infinity", "set k -inf", "unknown flag -inf"},
		{"a flag without its value", "get k --read", "flag --read needs a value"},
		{"a verb that nobody knows", "gett k", `no command "gett"`},
		{"a verb below a verb that nobody knows", "cluster statsu", `no command "statsu"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			invocation{}.run(t, strings.Fields(c.typed)...).check(t, exitUsage, "", c.message)
		})
	}
}
