package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"
)

func (con *console) expireCommand() *cli.Command {
	return &cli.Command{
		Name:      "expire",
		Usage:     "change how long a key has to live",
		ArgsUsage: "KEY TIME|never",
		Description: "The time counts from now and is at least 1ms; never keeps the key for good. Prints nothing.\n" +
			"Exit code 3: there is no such key.\n" + conditionHelp + "\n" +
			"ringraft expire session:42 30m\nringraft expire session:42 never\nringraft expire session:42 1h --if-version 3",
		Flags:  withConditionFlags(),
		Action: con.session(2, 2, expire),
	}
}

func expire(ctx context.Context, s *session, args []string) error {
	key, err := s.key(args[0])
	if err != nil {
		return err
	}
	var ttl time.Duration // 0: for ever
	if args[1] != "never" {
		if ttl, err = ttlOf("TIME", args[1]); err != nil {
			return err
		}
	}
	opts, err := conditions(s.c)
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	if ttl == 0 {
		err = cl.Persist(ctx, key, opts...)
	} else {
		err = cl.Expire(ctx, key, ttl, opts...)
	}
	if err != nil {
		return s.failure("changing the TTL of", key, err)
	}
	return s.printChanged(key)
}

func (s *session) printChanged(key string) error {
	if s.inJSON {
		return s.printJSON(newKey(key))
	}
	return nil
}
