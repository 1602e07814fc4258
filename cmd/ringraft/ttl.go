package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/internal/document"
)

func (con *console) ttlCommand() *cli.Command {
	return &cli.Command{
		Name:      "ttl",
		Usage:     "print how long a key has to live",
		ArgsUsage: "KEY",
		Description: "Prints whole milliseconds, or none for a key that does not expire; in JSON, ttl_ms is then\n" +
			"null. Exit code 3: there is no such key.\n\n" +
			"ringraft ttl session:42\nringraft ttl session:42 -o json",
		Flags:  withClientFlags(readFlag(), tokenFlag(), keyFlag()),
		Action: con.session(1, 1, ttl),
	}
}

func ttl(ctx context.Context, s *session, args []string) error {
	key, err := s.key(args[0])
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
	left, err := cl.TTL(ctx, key, level)
	if err != nil {
		return fmt.Errorf("reading the TTL of %s: %w", quoted(key), err)
	}
	switch {
	case s.inJSON:
		return s.printJSON(struct {
			document.KeyField
			TTL *int64 `json:"ttl_ms"`
		}{newKey(key), milliseconds(left)})
	case left == 0:
		return s.print("none")
	}
	return s.print(left.Milliseconds())
}
