package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
)

func (con *console) incrCommand() *cli.Command {
	return &cli.Command{
		Name:      "incr",
		Usage:     "add to the integer at a key",
		ArgsUsage: "KEY [N]",
		Description: "Adds N, 1 by default, to the 64-bit integer at the key, which counts as 0 if there is none,\n" +
			"and prints the sum. Exit code 4: the value is no integer, or the sum would leave 64 bits.\n\n" +
			"ringraft incr visits\nringraft incr visits 10\nringraft incr visits -5",
		Flags:  withClientFlags(keyFlag()),
		Action: con.session(1, 2, incr),
	}
}

func incr(ctx context.Context, s *session, args []string) error {
	key, err := s.key(args[0])
	if err != nil {
		return err
	}
	delta := int64(1)
	if len(args) == 2 {
		if delta, err = number("N", args[1]); err != nil {
			return err
		}
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	sum, err := cl.Add(ctx, key, delta)
	if err != nil {
		return fmt.Errorf("adding to %s: %w", quoted(key), err)
	}
	if s.inJSON {
		return s.printJSON(struct {
			keyField
			Number int64 `json:"number"`
		}{newKeyField(key), sum})
	}
	return s.print(sum)
}
