package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

func (con *console) existsCommand() *cli.Command {
	return &cli.Command{
		Name:      "exists",
		Usage:     "print how many of the keys exist",
		ArgsUsage: "KEY…",
		Description: "JSON is {\"count\",\"keys\":[{\"key\",\"exists\"}]}. Exit code 3: none of the keys exists.\n\n" +
			"ringraft exists greeting\nringraft exists a b c -o json",
		Flags:  withClientFlags(readFlag(), tokenFlag(), keyFlag()),
		Action: con.session(1, op.MaxKeys, exists),
	}
}

type existence struct {
	document.KeyField
	Exists bool `json:"exists"`
}

func exists(ctx context.Context, s *session, args []string) error {
	keys, err := s.keys(args)
	if err != nil {
		return err
	}
	level, err := s.level()
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	count := 0
	found := make([]existence, len(keys))
	for i, key := range keys {
		there, err := cl.Exists(ctx, key, level)
		if err != nil {
			return fmt.Errorf("looking for %s: %w", quoted(key), err)
		}
		found[i] = existence{newKey(key), there}
		if there {
			count++
		}
	}
	if err := s.printCount("count", count, found); err != nil || count > 0 {
		return err
	}
	return fmt.Errorf("none of %d keys exists: %w", len(keys), op.ErrNotFound)
}

// printCount prints how many of the keys something was true for.
func (s *session) printCount(name string, count int, keys any) error {
	if s.inJSON {
		return s.printJSON(map[string]any{name: count, "keys": keys})
	}
	return s.print(count)
}
