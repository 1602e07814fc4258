package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
)

func (con *console) exportCommand() *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "print all records, as import reads them",
		Description: "A JSON object per line, in no particular order: {\"key\", \"value\", \"ttl\"}, with key_base64 and\n" +
			"value_base64 in place of what is no UTF-8, and no ttl for a record that does not expire. Keys\n" +
			"that others write meanwhile may be left out. Protection from eviction is not exported.\n\n" +
			"ringraft export > records.jsonl\nringraft export --prefix user:",
		Flags:  withClientFlags(&cli.StringFlag{Name: "prefix", Usage: "only keys that start with `TEXT`"}, readFlag(), tokenFlag()),
		Action: con.session(0, 0, export),
	}
}

func export(ctx context.Context, s *session, _ []string) error {
	level, err := s.level()
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	bar := s.newProgress(-1, "exporting", false)
	out := bufio.NewWriterSize(s.out, 64<<10)
	count := 0
	for e, err := range cl.Scan(ctx, s.c.String("prefix"), level, client.WithValues()) {
		if err != nil {
			_ = out.Flush() // the scan's error is the one to report
			return fmt.Errorf("exporting, after %d records: %w", count, err)
		}
		if err := writePair(out, pair{key: e.Key, value: e.Bytes, ttl: e.TTL}); err != nil {
			return err
		}
		count++
		_ = bar.Add(1) // a bar that cannot be drawn is no reason to stop
	}
	_ = bar.Finish()
	if err := out.Flush(); err != nil {
		return err
	}
	s.note("%d records", count)
	return nil
}
