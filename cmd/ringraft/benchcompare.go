package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/bench"
)

// maxResult bounds a result's file, in bytes.
const maxResult = 16 << 20

func (con *console) benchCompareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "compare two results of bench",
		ArgsUsage: "A.json B.json",
		Description: fmt.Sprintf("Prints every figure of both and the ratio B/A. A ratio under %v in either direction is a tie:\n"+
			"two runs of one thing differ by so much on a machine that does other work too. JSON is\n"+
			"[{\"figure\",\"a\",\"b\",\"ratio\",\"verdict\"}], where verdict is tie, better or worse.\n\n", bench.Tie) +
			"ringraft bench > a.json\nringraft bench --clients 256 > b.json\nringraft bench compare a.json b.json",
		Flags:  []cli.Flag{outputFlag("text")},
		Action: con.session(2, 2, compareResults),
	}
}

func compareResults(_ context.Context, s *session, args []string) error {
	a, err := readResult(args[0])
	if err != nil {
		return err
	}
	b, err := readResult(args[1])
	if err != nil {
		return err
	}
	list := bench.Compare(a, b)
	if s.inJSON {
		return s.printJSON(list)
	}
	t := newTable(s.out)
	fmt.Fprintln(t, "FIGURE\tA\tB\tB/A\t")
	for _, c := range list {
		ratio := "–"
		if c.Ratio != 0 {
			ratio = fmt.Sprintf("%.2f", c.Ratio)
		}
		fmt.Fprintf(t, "%s\t%v\t%v\t%s\t%s\n", c.Figure, c.A, c.B, ratio, c.Verdict)
	}
	return t.Flush()
}

// readResult reads what bench printed.
func readResult(path string) (r bench.Result, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	decoder := json.NewDecoder(io.LimitReader(f, maxResult))
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("%s is no result of bench: %w", path, err)
	}
	if r.Seconds == 0 {
		return r, fmt.Errorf("%s is no result of bench: it has no seconds", path)
	}
	return r, nil
}
