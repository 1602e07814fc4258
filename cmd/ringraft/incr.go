package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
)

func (con *console) incrCommand() *cli.Command {
	return &cli.Command{
		Name:      "incr",
		Usage:     "add to the integer at a key",
		ArgsUsage: "KEY [N]",
		Description: "Adds N, 1 by default, to the 64-bit integer at the key, which counts as 0 if there is none,\n" +
			"and prints the sum. Its TTL stays, unless --ttl gives another. Exit code 4: the value is no integer,\n" +
			"the sum would leave 64 bits, or it passes --at-least or --at-most; --clamp stores the bound then.\n" + conditionHelp + "\n" +
			"ringraft incr visits\nringraft incr visits -5\nringraft incr seats -1 --at-least 0\nringraft incr level 10 --at-most 99 --clamp",
		Flags: withConditionFlags(
			&cli.StringFlag{Name: "at-least", Usage: "only if the sum is `NUMBER` or more"},
			&cli.StringFlag{Name: "at-most", Usage: "only if the sum is `NUMBER` or less"},
			&cli.BoolFlag{Name: "clamp", Usage: "store the bound that the sum passes"},
			&cli.StringFlag{Name: "ttl", Usage: "remove the key after `TIME`, at least 1ms"},
		),
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
	opts, err := addOptions(s.c)
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	sum, err := cl.Add(ctx, key, delta, opts...)
	if err != nil {
		return s.failure("adding to", key, err)
	}
	return s.printNumber(key, sum)
}

func (s *session) printNumber(key string, n int64) error {
	if s.inJSON {
		return s.printJSON(struct {
			document.KeyField
			Number int64 `json:"number"`
		}{newKey(key), n})
	}
	return s.print(n)
}

func addOptions(c *cli.Context) ([]client.WriteOption, error) {
	opts, err := conditions(c)
	if err != nil {
		return nil, err
	}
	given := map[string]int64{}
	for _, bound := range []struct {
		flag   string
		option func(int64) client.WriteOption
	}{{"at-least", client.AtLeast}, {"at-most", client.AtMost}} {
		if !c.IsSet(bound.flag) {
			continue
		}
		n, err := number("--"+bound.flag, c.String(bound.flag))
		if err != nil {
			return nil, err
		}
		given[bound.flag] = n
		opts = append(opts, bound.option(n))
	}
	if len(given) == 2 && given["at-least"] > given["at-most"] {
		return nil, usagef("--at-least is %d, over --at-most, %d", given["at-least"], given["at-most"])
	}
	if c.Bool("clamp") {
		if !c.IsSet("at-least") && !c.IsSet("at-most") {
			return nil, usagef("--clamp needs --at-least or --at-most")
		}
		opts = append(opts, client.Clamped())
	}
	if c.IsSet("ttl") {
		ttl, err := ttlOf("--ttl", c.String("ttl"))
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithTTL(ttl))
	}
	return opts, nil
}
