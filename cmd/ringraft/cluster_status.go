package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
)

func (con *console) clusterStatusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "print the nodes, the groups and how far their replicas are",
		Description: "JSON is {\"cluster_id\",\"epoch\",\"nodes\":[{\"id\",\"native\",\"peer\",\"redis\",\"state\"}],\"groups\":[{\"id\",\n" +
			"\"leader\",\"term\",\"keys\",\"bytes\",\"sessions\",\"session_bytes\",\"locks\",\"replicas\":[{\"node\",\"role\",\n" +
			"\"applied\",\"lag\",\"memory_used\",\"memory_held\",\"reason\"}]}],\"meta\":{…}}, where sessions are those\n" +
			"of clients, session_bytes what bytes has of them and the answers kept for them, locks the keys\n" +
			"that transactions have locked, and meta the group that owns the cluster map; lag counts log\n" +
			"entries behind the commit index, memory is what records take and what they lie in, in bytes, and\n" +
			"a leader of \"\" means that the group has none.\n\n" +
			"ringraft cluster status\nringraft cluster status -o json",
		Flags:  clientFlags(),
		Action: con.session(0, 0, printStatus),
	}
}

func printStatus(ctx context.Context, s *session, _ []string) error {
	cl, err := s.connect()
	if err != nil {
		return err
	}
	doc, err := clusterStatus(ctx, cl)
	if err != nil {
		return fmt.Errorf("asking for the status: %w", err)
	}
	if s.inJSON {
		return s.printJSON(doc)
	}
	return writeStatus(s.out, doc)
}

// clusterStatus asks the cluster for its map and its nodes' view of their replicas.
func clusterStatus(ctx context.Context, cl *client.Client) (statusDocument, error) {
	m, err := cl.Map(ctx)
	if err != nil {
		return statusDocument{}, err
	}
	nodes, err := cl.Status(ctx)
	if err != nil {
		return statusDocument{}, err
	}
	return newStatusDocument(m, nodes), nil
}

func writeStatus(w io.Writer, doc statusDocument) error {
	fmt.Fprintf(w, "cluster %s  epoch %d\n\n", doc.ClusterID, doc.Epoch)
	if err := writeNodes(w, doc.Nodes); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t := newTable(w)
	fmt.Fprintln(t, "GROUP\tLEADER\tTERM\tKEYS\tBYTES\tREPLICA\tROLE\tAPPLIED\tLAG")
	writeGroup(t, "meta", doc.Meta)
	for _, g := range doc.Groups {
		writeGroup(t, fmt.Sprint(g.ID), g)
	}
	return t.Flush()
}

// writeGroup writes a line per replica; what is the group's stands in the first.
func writeGroup(w io.Writer, name string, g groupStatus) {
	leader := g.Leader
	if leader == "" {
		leader = "none"
	}
	head := fmt.Sprintf("%s\t%s\t%d\t%d\t%d", name, leader, g.Term, g.Keys, g.Bytes)
	for _, r := range g.Replicas {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", head, r.Node, r.Role, r.Applied, r.Lag)
		head = "\t\t\t\t"
	}
}
