package main

import (
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

func (con *console) clusterCommand() *cli.Command {
	return &cli.Command{
		Name:        "cluster",
		Usage:       "look at the cluster and change it",
		Description: "ringraft cluster status\nringraft cluster transfer 2 --to n3\nringraft cluster config set max-bytes 1GiB",
		Subcommands: []*cli.Command{
			con.clusterStatusCommand(),
			con.clusterMembersCommand(),
			con.clusterTransferCommand(),
			con.clusterConfigCommand(),
		},
	}
}

// newTable returns a writer that aligns the columns of tab-separated lines. Flush
// prints them.
func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
}
