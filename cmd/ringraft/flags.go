package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard/storage"
)

const (
	defaultEndpoints = "127.0.0.1:7401,127.0.0.1:7402,127.0.0.1:7403"

	minTimeout = time.Millisecond
	maxTimeout = time.Hour
)

// clientFlags are the flags of every verb that talks to a cluster.
func clientFlags() []cli.Flag {
	return []cli.Flag{endpointsFlag(), timeoutFlag(), outputFlag("text")}
}

func endpointsFlag() cli.Flag {
	return &cli.StringFlag{Name: "endpoints", Usage: "`HOST:PORT,…` of nodes to start from [$RINGRAFT_ENDPOINTS]", Value: defaultEndpoints}
}

func timeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Usage: "`TIME` that connecting, and each request, may take [$RINGRAFT_TIMEOUT]", Value: 5 * time.Second}
}

func outputFlag(format string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORMAT` of what is printed: text or json", Value: format}
}

func readFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "read",
		Usage: "`LEVEL`: local may be old, session is as new as --session-token, bounded=2s at most so old, linearizable the latest",
		Value: client.Linearizable.String(),
	}
}

func logKindFlag() cli.Flag {
	return &cli.StringFlag{Name: "log", Usage: "`KIND` of the log on disk: wal, shared or bolt; fixed for a data directory (default: the directory's, shared for a new one)"}
}

// logKind returns the kind that --log asks for, "" for none.
func logKind(c *cli.Context) (storage.LogKind, error) {
	kind := storage.LogKind(c.String("log"))
	if kind == "" {
		return kind, nil
	}
	var names []string
	for _, k := range storage.LogKinds() {
		names = append(names, string(k))
	}
	return kind, oneOf("log", string(kind), names...)
}

func keyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "key-base64", Usage: "the keys given are standard base64, for keys that hold any bytes"}
}

// withClientFlags returns own, then the flags of every client.
func withClientFlags(own ...cli.Flag) []cli.Flag { return append(own, clientFlags()...) }

// fillFromEnv sets the flags that the command line leaves out from RINGRAFT_*.
func (con *console) fillFromEnv(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		value, ok := con.lookupEnv(envName(name))
		if !ok || !fromEnv(name, c.Command.Name) || c.IsSet(name) {
			continue
		}
		if err := c.Set(name, value); err != nil {
			return usagef("%s (flag --%s) is %q: %w", envName(name), name, value, err)
		}
	}
	return nil
}

// fromEnv reports whether the flag may come from the environment: a server's all do,
// of the others those that name a cluster.
func fromEnv(flag, command string) bool {
	return flag != "help" && (command == serverName || flag == "endpoints" || flag == "timeout")
}

func envName(flag string) string {
	return "RINGRAFT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// asJSON reports whether -o asks for JSON.
func asJSON(c *cli.Context) (bool, error) {
	switch format := c.String("output"); format {
	case "json":
		return true, nil
	case "text":
		return false, nil
	default:
		return false, usagef("--output is %q; it is text or json", format)
	}
}

// endpoints returns the addresses that --endpoints lists.
func endpoints(c *cli.Context) ([]string, error) {
	var list []string
	for e := range strings.SplitSeq(c.String("endpoints"), ",") {
		if e = strings.TrimSpace(e); e != "" {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return nil, usagef("--endpoints is empty; it is a list HOST:PORT,HOST:PORT,…")
	}
	return list, nil
}

// arguments checks that the verb got from least to most arguments, and returns them.
func arguments(c *cli.Context, least, most int) ([]string, error) {
	args := c.Args().Slice()
	switch {
	case most == 0 && len(args) > 0:
		return nil, usagef("%s takes flags only, got %q", c.Command.HelpName, args[0])
	case len(args) < least || len(args) > most:
		return nil, usagef("%s takes %s, got %d arguments", c.Command.HelpName, c.Command.ArgsUsage, len(args))
	}
	return args, nil
}

// within returns an error that names the flag unless low ≤ value ≤ high.
func within[T int | int64 | time.Duration](flag string, value, low, high T) error {
	if value < low || value > high {
		return usagef("--%s is %v; it must lie between %v and %v", flag, value, low, high)
	}
	return nil
}

// oneOf returns an error that names the flag unless value is among the choices.
func oneOf(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return usagef("--%s is %q; it is one of %s", flag, value, strings.Join(choices, ", "))
}

// longestTTL is as long as a record can have to live.
const longestTTL = op.MaxTTL * time.Millisecond

// ttlOf returns the time to live that text, given for the named flag or argument,
// stands for.
func ttlOf(name, text string) (time.Duration, error) {
	ttl, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, usagef("%s is %q; it is a time between 1ms and %v, such as 30s or 1h30m", name, text, longestTTL)
	case ttl < time.Millisecond || ttl > longestTTL:
		return 0, usagef("%s is %v; it must lie between 1ms and %v", name, ttl, longestTTL)
	case ttl%time.Millisecond != 0:
		return 0, usagef("%s is %v; it must be a whole number of milliseconds", name, ttl)
	}
	return ttl, nil
}

// number parses an integer in the form in which the cluster writes it: no plus sign,
// no leading zero.
func number(name, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, usagef("%s is %q; it is an integer between -2^63 and 2^63-1, such as 42 or -7", name, text)
	}
	return n, nil
}
