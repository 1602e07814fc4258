package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
)

func (con *console) getCommand() *cli.Command {
	return &cli.Command{
		Name:      "get",
		Usage:     "print the value at a key",
		ArgsUsage: "KEY",
		Description: "The value is printed byte for byte; on a terminal a newline follows. JSON is\n" +
			"{\"key\",\"value\",\"version\",\"ttl_ms\"}, with key_base64 and value_base64 in place of what is no\n" +
			"UTF-8, and ttl_ms null for a key that does not expire. Exit code 3: there is no such key.\n\n" +
			"ringraft get greeting\nringraft get --read local greeting -o json\nringraft get -- -key-with-a-dash > value",
		Flags:  withClientFlags(readFlag(), tokenFlag(), keyFlag()),
		Action: con.session(1, 1, get),
	}
}

func get(ctx context.Context, s *session, args []string) error {
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
	v, err := cl.Get(ctx, key, level)
	if err != nil {
		return fmt.Errorf("getting %s: %w", quoted(key), err)
	}
	if s.inJSON {
		return s.printJSON(newRecord(key, newValue(v.Bytes), v.Version, v.TTL))
	}
	if _, err := s.out.Write(v.Bytes); err != nil {
		return err
	}
	if s.outTerminal {
		return s.print("")
	}
	return nil
}
