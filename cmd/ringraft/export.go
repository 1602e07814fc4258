package main

import (
	"bufio"
	"context"
	"fmt"
	"iter"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/media"
	"github.com/ringraft/ringraft/op"
)

func (con *console) exportCommand() *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "print all records, as import reads them",
		Description: "A JSON object per line, in no particular order: {\"key\", \"value\", \"ttl\", \"media_type\"}, with\n" +
			"key_base64 and value_base64 in place of what is no UTF-8, no ttl for a record that does not expire,\n" +
			"and a media_type where the value came with one over HTTP. Keys that others write meanwhile may be\n" +
			"left out. Protection from eviction is not exported.\n\n" +
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
	for p, err := range exportedPairs(ctx, cl, s.c.String("prefix"), level) {
		if err != nil {
			_ = out.Flush() // the scan's error is the one to report
			return fmt.Errorf("exporting, after %d records: %w", count, err)
		}
		if err := writePair(out, p); err != nil {
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

// exportedPairs ranges over the records of a prefix, a page at a time, each with the media
// type that came with its value. An error is the last element.
func exportedPairs(ctx context.Context, cl *client.Client, prefix string, level client.ReadOption) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		for cursor := ""; ; {
			page, next, err := cl.ScanPage(ctx, prefix, cursor, op.MaxKeys, level, client.WithValues())
			var types []client.Result
			if err == nil {
				types, err = mediaTypes(ctx, cl, page, level)
			}
			if err != nil {
				yield(pair{}, err)
				return
			}
			for i, e := range page {
				p := pair{key: e.Key, value: e.Bytes, ttl: e.TTL}
				if t := media.Of(types[i].Value.Bytes, e.Bytes); t != media.Bytes {
					p.mediaType = t
				}
				if !yield(p, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// mediaTypes returns what is kept of the media types of a page.
func mediaTypes(ctx context.Context, cl *client.Client, page []client.Entry, level client.ReadOption) ([]client.Result, error) {
	keys := make([]string, len(page))
	for i, e := range page {
		keys[i] = string(media.Key([]byte(e.Key)))
	}
	return cl.GetMany(ctx, keys, level)
}
