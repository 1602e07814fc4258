package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

func (con *console) scanCommand() *cli.Command {
	return &cli.Command{
		Name:      "scan",
		Usage:     "print the keys that start with a prefix",
		ArgsUsage: "[PREFIX]",
		Description: "A line per key, in no particular order; with --values a tab and the value follow. Bytes that\n" +
			"do not print, and the backslash, are escaped as in a Go string. JSON is {\"items\":[{\"key\",\n" +
			"\"version\",\"ttl_ms\"}],\"next\"} with an item per line, and \"value\" in each with --values. Where\n" +
			"--limit cuts the scan short, next holds what to give to --cursor; as text it goes to standard\n" +
			"error.\n\nringraft scan user:\nringraft scan user: --limit 100 --values -o json",
		Flags: withClientFlags(
			&cli.IntFlag{Name: "limit", Usage: "print at most `NUMBER` keys; 0 is no limit"},
			&cli.StringFlag{Name: "cursor", Usage: "go on from `CURSOR`, where an earlier scan was cut short"},
			&cli.BoolFlag{Name: "values", Usage: "print the values too"},
			readFlag(), tokenFlag(),
		),
		Action: con.session(0, 1, scan),
	}
}

func scan(ctx context.Context, s *session, args []string) error {
	prefix := ""
	if len(args) == 1 {
		prefix = args[0]
	}
	limit := s.c.Int("limit")
	if limit < 0 {
		return usagef("--limit is %d; it must be at least 1, or 0 for none", limit)
	}
	level, err := s.level()
	if err != nil {
		return err
	}
	opts := []client.ReadOption{level}
	if s.c.Bool("values") {
		opts = append(opts, client.WithValues())
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	p := s.scanPrinter()
	next, err := eachPage(s.c.String("cursor"), limit, func(cursor string, size int) ([]client.Entry, string, error) {
		return cl.ScanPage(ctx, prefix, cursor, size, opts...)
	}, p.page)
	if err != nil {
		return fmt.Errorf("scanning %q: %w", prefix, err)
	}
	return p.end(next)
}

// eachPage reads pages from cursor on, up to limit keys in all (0: to the end), and
// hands them to print. It returns the cursor to go on with, "" at the end.
func eachPage(
	cursor string, limit int,
	read func(cursor string, size int) ([]client.Entry, string, error),
	print func([]client.Entry) error,
) (next string, err error) {
	for left := limit; ; {
		size := op.MaxKeys
		if limit > 0 {
			size = min(left, size)
		}
		page, next, err := read(cursor, size)
		if err != nil {
			return "", err
		}
		if err := print(page); err != nil {
			return "", err
		}
		left -= len(page)
		if next == "" || limit > 0 && left <= 0 {
			return next, nil
		}
		cursor = next
	}
}

// scanPrinter prints a scan page by page, as text or as one JSON document.
type scanPrinter struct {
	out, err io.Writer
	inJSON   bool
	values   bool
	printed  bool // an item
	buf      bytes.Buffer
}

func (s *session) scanPrinter() *scanPrinter {
	return &scanPrinter{out: s.out, err: s.err, inJSON: s.inJSON, values: s.c.Bool("values")}
}

// page prints a page with one write.
func (p *scanPrinter) page(entries []client.Entry) error {
	p.buf.Reset()
	for _, e := range entries {
		if p.inJSON {
			p.item(e)
			continue
		}
		p.buf.WriteString(escape(e.Key))
		if p.values {
			p.buf.WriteByte('\t')
			p.buf.WriteString(escape(string(e.Bytes)))
		}
		p.buf.WriteByte('\n')
	}
	_, err := p.out.Write(p.buf.Bytes())
	return err
}

func (p *scanPrinter) item(e client.Entry) {
	if p.printed {
		p.buf.WriteString(",")
	} else {
		p.buf.WriteString("{\"items\":[\n")
	}
	p.printed = true
	var value *document.ValueField
	if p.values {
		value = newValue(e.Bytes)
	}
	_ = writeJSON(&p.buf, newRecord(e.Key, value, e.Version, e.TTL)) // a buffer takes all
}

// end prints the cursor to go on with, if there is one.
func (p *scanPrinter) end(next string) error {
	switch {
	case p.inJSON && p.printed:
		_, err := fmt.Fprintf(p.out, "],\"next\":%q}\n", next)
		return err
	case p.inJSON:
		_, err := fmt.Fprintf(p.out, "{\"items\":[],\"next\":%q}\n", next)
		return err
	case next != "":
		fmt.Fprintln(p.err, "there is more: go on with --cursor", next)
	}
	return nil
}
