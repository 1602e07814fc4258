package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (con *console) clusterMembersCommand() *cli.Command {
	return &cli.Command{
		Name:        "members",
		Usage:       "print the nodes, their addresses and whether they answer",
		Description: "JSON is {\"nodes\":[{\"id\",\"native\",\"peer\",\"redis\",\"state\"}]}; the state is up,\ndraining, full or down.\n\nringraft cluster members",
		Flags:       clientFlags(),
		Action:      con.session(0, 0, printMembers),
	}
}

func printMembers(ctx context.Context, s *session, _ []string) error {
	cl, err := s.connect()
	if err != nil {
		return err
	}
	doc, err := clusterStatus(ctx, cl)
	if err != nil {
		return fmt.Errorf("asking for the members: %w", err)
	}
	if s.inJSON {
		return s.printJSON(map[string]any{"nodes": doc.Nodes})
	}
	return writeNodes(s.out, doc.Nodes)
}

func writeNodes(w io.Writer, nodes []nodeStatus) error {
	t := newTable(w)
	fmt.Fprintln(t, "NODE\tSTATE\tNATIVE\tPEER")
	for _, n := range nodes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", n.ID, n.State, n.Native, n.Peer)
	}
	return t.Flush()
}
