package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
)

func (con *console) importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "put the records of a file",
		ArgsUsage: "FILE|-",
		Description: "The file has a JSON object per line: {\"key\": \"a\", \"value\": \"b\", \"ttl\": \"30s\"}. key_base64 and\n" +
			"value_base64 take the place of what is no UTF-8; without ttl the record does not expire; media_type\n" +
			"is what HTTP gives back with the value. A key that comes twice ends with its last value. A line\n" +
			"that cannot be stored is reported on standard error with its number and the reason, and the import\n" +
			"goes on; then the exit code is 1.\n\n" +
			"At the end, also when it is interrupted or the cluster goes away, the counts are printed:\n" +
			"lines is how many lines, from the first of the file, are done. Go on with --skip LINES, which puts\n" +
			"some of the lines after that again.\n\n" +
			"ringraft import records.jsonl\nringraft export | ringraft --endpoints other:7401 import -",
		Flags: withClientFlags(
			&cli.Int64Flag{Name: "skip", Usage: "skip the first `NUMBER` of lines, which an earlier import has done"},
		),
		Action: con.session(1, 1, importFile),
	}
}

// importCounts is what an import prints at its end.
type importCounts struct {
	Lines  int64 `json:"lines"`  // from the first of the file, without a gap, that are done
	Stored int64 `json:"stored"` // records
	Failed int64 `json:"failed"` // lines
}

func importFile(ctx context.Context, s *session, args []string) error {
	skip := s.c.Int64("skip")
	if skip < 0 {
		return usagef("--skip is %d; it must be 0 or more", skip)
	}
	in, size, err := s.openInput(args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	cl, err := s.connect()
	if err != nil {
		return err
	}
	bar := s.newProgress(size, "importing", true)
	im := newImporter(cl, skip, func(line int64, err error) {
		_ = bar.Clear() // a bar that cannot be drawn is no reason to stop
		s.note("line %d: %v", line, err)
	})
	failure := im.run(ctx, io.TeeReader(in, bar))
	_ = bar.Finish()
	counts := im.counts()
	if err := s.printImport(counts); err != nil {
		return err
	}
	switch {
	case failure != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted; go on with --skip %d", counts.Lines)
	case failure != nil:
		return fmt.Errorf("importing: %w; go on with --skip %d", failure, counts.Lines)
	case counts.Failed > 0:
		return fmt.Errorf("%d lines were not stored", counts.Failed)
	}
	return nil
}

// openInput opens the file, or standard input for "-", and returns its size in
// bytes, -1 if that is not known.
func (con *console) openInput(path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(con.in), -1, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	stat, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, 0, err
	case stat.Mode().IsRegular():
		return f, stat.Size(), nil
	}
	return f, -1, nil
}

func (s *session) printImport(c importCounts) error {
	if s.inJSON {
		return s.printJSON(c)
	}
	return s.print(fmt.Sprintf("%d lines done, %d records stored, %d lines failed", c.Lines, c.Stored, c.Failed))
}
