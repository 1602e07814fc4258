package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

func (con *console) txnCommand() *cli.Command {
	return &cli.Command{
		Name:      "txn",
		Usage:     "compare and change several keys in one step",
		ArgsUsage: "[FILE|-]",
		Description: "Reads a JSON document from the file, or from standard input. If all compares hold, what then\n" +
			"lists is done, else what else lists; all of it or nothing. Keys with the same {tag}, as {a}x and\n" +
			"{a}y, are changed in one step; others may take three, and can have no else.\n\n" +
			"{\"if\":   [{\"key\", \"absent\": true | \"present\": true | \"version\": 7 | \"value\": \"text\", \"show\": true}],\n" +
			" \"then\": [{\"set\": {\"key\", \"value\", \"ttl\": \"30s\", \"keep_ttl\": true, \"protect\": true}},\n" +
			"          {\"add\": {\"key\", \"delta\": -1, \"at_least\": 0, \"at_most\": 9, \"clamp\": true, \"ttl\"}},\n" +
			"          {\"expire\": {\"key\", \"ttl\": \"30s\" or \"never\"}}, {\"delete\": {\"key\"}}, {\"get\": {\"key\"}}],\n" +
			" \"else\": [as then]}\n\n" +
			"key_base64 and value_base64 take the place of what is no UTF-8. Prints JSON: {\"met\",\"results\":[{\"key\",\n" +
			"\"found\",\"version\"}]}, with number for add, value and ttl_ms for get; where no else is given,\n" +
			"{\"met\":false,\"standing\":[…]} tells what stands at the keys compared, the value where show is true.\n" +
			"Exit code 4: the compares did not hold, or a change was not possible.\n\n" +
			"ringraft txn transfer.json\nringraft txn -o json < transfer.json",
		Flags:  withClientFlags(tokenFlag()),
		Action: con.session(0, 1, txn),
	}
}

func txn(ctx context.Context, s *session, args []string) error {
	path := "-"
	if len(args) == 1 {
		path = args[0]
	}
	txn, err := s.readTxn(path)
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	res, err := cl.Txn(ctx, clientTxn(txn))
	if err != nil {
		return fmt.Errorf("the transaction: %w", err)
	}
	return s.printTxn(newTxnOutcome(txn, res))
}

func (s *session) printTxn(outcome txnOutcome) error {
	if err := s.printJSON(outcome); err != nil {
		return err
	}
	if !outcome.Met {
		return fmt.Errorf("the compares: %w", client.ErrConditionNotMet)
	}
	return nil
}

// readTxn returns the transaction in the file, or on standard input for "-".
func (s *session) readTxn(path string) (op.Txn, error) {
	in, _, err := s.openInput(path)
	if err != nil {
		return op.Txn{}, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxLine+1))
	switch {
	case err != nil:
		return op.Txn{}, fmt.Errorf("reading the transaction: %w", err)
	case len(text) > maxLine:
		return op.Txn{}, usagef("the transaction is longer than %d bytes", maxLine)
	}
	txn, err := parseTxn(text)
	if err != nil {
		return op.Txn{}, usagef("the transaction: %w", err)
	}
	return txn, nil
}

// txnOutcome is what a transaction came to, in JSON.
type txnOutcome struct {
	Met      bool         `json:"met"`
	Results  []txnResult  `json:"results,omitempty"`  // in the order of then or else
	Standing []txnCompare `json:"standing,omitempty"` // in the order of if
}

type txnResult struct {
	document.KeyField
	*document.ValueField        // of a get that found something
	Found                bool   `json:"found"`
	Version              uint64 `json:"version,omitempty"`
	TTL                  *int64 `json:"ttl_ms,omitempty"` // of a get
	Number               *int64 `json:"number,omitempty"` // of an add
}

type txnCompare struct {
	document.KeyField
	*document.ValueField        // where it was to be shown
	Found                bool   `json:"found"`
	Version              uint64 `json:"version,omitempty"`
	TTL                  *int64 `json:"ttl_ms"`
}

// newTxnOutcome tells what became of a transaction.
func newTxnOutcome(txn op.Txn, res client.TxnResult) txnOutcome {
	out := txnOutcome{Met: res.Met}
	ran := txn.Then
	if !res.Met {
		ran = txn.Else
	}
	for i, a := range res.Results {
		out.Results = append(out.Results, newTxnResult(ran[i], a))
	}
	show := map[string]bool{}
	for _, compare := range txn.Compares {
		show[string(compare.Key)] = compare.Cond.Show
	}
	for _, r := range res.Standing {
		c := txnCompare{
			KeyField: newKey(r.Key), Found: r.Existed, Version: r.Value.Version, TTL: milliseconds(r.Value.TTL),
		}
		if r.Existed && show[r.Key] {
			c.ValueField = newValue(r.Value.Bytes)
		}
		out.Standing = append(out.Standing, c)
	}
	return out
}

func newTxnResult(o op.Op, a client.Answer) txnResult {
	res := txnResult{KeyField: document.NewKey(op.Keys(o)[0]), Found: a.Found, Version: a.Value.Version}
	switch {
	case o.Code() == op.CodeAdd:
		res.Number = &a.Number
	case o.Code() == op.CodeGet && a.Found:
		res.ValueField, res.TTL = newValue(a.Value.Bytes), milliseconds(a.Value.TTL)
	}
	return res
}
