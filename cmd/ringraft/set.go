package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

func (con *console) setCommand() *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "put a value at a key",
		ArgsUsage: "KEY [VALUE]",
		Description: "The value is the argument, or what --value-file holds, or, for the argument - , standard input\n" +
			"up to its end; to store a lone dash write --value-file. Prints the key's new version.\n" + conditionHelp + "\n" +
			"ringraft set greeting hello --ttl 30s\nringraft set temperature -5\nringraft set key -- --value\n" +
			"ringraft set picture --value-file picture.jpg --protect\ngzip -c log | ringraft set log -\n" +
			"ringraft set lock mine --if-absent --ttl 10s --show\nringraft set config new --if-version 7",
		Flags: withConditionFlags(
			&cli.StringFlag{Name: "value-file", Usage: "take the value from `FILE`, or from standard input if that is -"},
			&cli.StringFlag{Name: "ttl", Usage: "remove the key after `TIME`, at least 1ms"},
			&cli.BoolFlag{Name: "keep-ttl", Usage: "keep the deadline of the value that is replaced"},
			&cli.BoolFlag{Name: "protect", Usage: "never evict this value"},
		),
		Action: con.session(1, 2, set),
	}
}

func set(ctx context.Context, s *session, args []string) error {
	key, err := s.key(args[0])
	if err != nil {
		return err
	}
	opts, err := writeOptions(s.c)
	if err != nil {
		return err
	}
	value, err := s.value(args[1:])
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	version, err := cl.Set(ctx, key, value, opts...)
	if err != nil {
		return s.failure("setting", key, err)
	}
	return s.printVersion(key, version)
}

func (s *session) printVersion(key string, version uint64) error {
	if s.inJSON {
		return s.printJSON(struct {
			document.KeyField
			Version uint64 `json:"version"`
		}{newKey(key), version})
	}
	return s.print(fmt.Sprintf("version %d", version))
}

func writeOptions(c *cli.Context) ([]client.WriteOption, error) {
	opts, err := conditions(c)
	if err != nil {
		return nil, err
	}
	if c.IsSet("ttl") {
		ttl, err := ttlOf("--ttl", c.String("ttl"))
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithTTL(ttl))
	}
	if c.Bool("keep-ttl") {
		if c.IsSet("ttl") {
			return nil, usagef("--keep-ttl and --ttl exclude each other")
		}
		opts = append(opts, client.KeepTTL())
	}
	if c.Bool("protect") {
		opts = append(opts, client.Protected())
	}
	return opts, nil
}

// value returns the value that the argument or --value-file names.
func (s *session) value(args []string) ([]byte, error) {
	path := s.c.String("value-file")
	switch {
	case s.c.IsSet("value-file") && len(args) > 0:
		return nil, usagef("both VALUE and --value-file are given")
	case path == "-", !s.c.IsSet("value-file") && len(args) > 0 && args[0] == "-":
		return readValue(s.in, "standard input")
	case s.c.IsSet("value-file"):
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--value-file: %w", err)
		}
		defer f.Close()
		return readValue(f, path)
	case len(args) == 0:
		return nil, usagef("there is no value: give VALUE, - for standard input, or --value-file")
	}
	return []byte(args[0]), nil
}

// readValue reads a value, no more of it than any cluster takes.
func readValue(r io.Reader, name string) ([]byte, error) {
	value, err := io.ReadAll(io.LimitReader(r, op.MaxValueLimit+1))
	if err != nil {
		return nil, fmt.Errorf("reading the value from %s: %w", name, err)
	}
	if len(value) > op.MaxValueLimit {
		return nil, usagef("the value in %s has more than %d bytes, the most that a cluster can be set to take", name, op.MaxValueLimit)
	}
	return value, nil
}
