package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"
)

func (con *console) clusterTransferCommand() *cli.Command {
	return &cli.Command{
		Name:      "transfer",
		Usage:     "hand a group's leadership over",
		ArgsUsage: "GROUP",
		Description: "Hands over to the node --to, or to the best follower, makes it the preferred leader, and\n" +
			"prints its id. Clients see no error.\n\n" +
			"ringraft cluster transfer 2\nringraft cluster transfer 2 --to n3",
		Flags:  withClientFlags(&cli.StringFlag{Name: "to", Usage: "`NODE` that is to lead"}),
		Action: con.session(1, 1, transfer),
	}
}

func transfer(ctx context.Context, s *session, args []string) error {
	group, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return usagef("GROUP is %q; it is a group's number, see ringraft cluster status", args[0])
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	leader, err := cl.Transfer(ctx, group, s.c.String("to"))
	if err != nil {
		return fmt.Errorf("transferring group %d: %w", group, err)
	}
	if s.inJSON {
		return s.printJSON(struct {
			Group  uint64 `json:"group"`
			Leader string `json:"leader"`
		}{group, leader})
	}
	return s.print(leader)
}
