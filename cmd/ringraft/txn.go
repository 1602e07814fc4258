package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
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
	doc, err := s.readTxn(path)
	if err != nil {
		return err
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	res, err := cl.Txn(ctx, doc.txn)
	if err != nil {
		return fmt.Errorf("the transaction: %w", err)
	}
	return s.printTxn(doc.outcome(res))
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
func (s *session) readTxn(path string) (*parsedTxn, error) {
	in, _, err := s.openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxLine+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the transaction: %w", err)
	case len(text) > maxLine:
		return nil, usagef("the transaction is longer than %d bytes", maxLine)
	}
	doc, err := parseTxn(text)
	if err != nil {
		return nil, usagef("the transaction: %w", err)
	}
	return doc, nil
}

// txnOutcome is what a transaction came to, in JSON.
type txnOutcome struct {
	Met      bool         `json:"met"`
	Results  []txnResult  `json:"results,omitempty"`  // in the order of then or else
	Standing []txnCompare `json:"standing,omitempty"` // in the order of if
}

type txnResult struct {
	keyField
	*valueField        // of a get that found something
	Found       bool   `json:"found"`
	Version     uint64 `json:"version,omitempty"`
	TTL         *int64 `json:"ttl_ms,omitempty"` // of a get
	Number      *int64 `json:"number,omitempty"` // of an add
}

type txnCompare struct {
	keyField
	*valueField        // where it was to be shown
	Found       bool   `json:"found"`
	Version     uint64 `json:"version,omitempty"`
	TTL         *int64 `json:"ttl_ms"`
}

// outcome tells what became of the parsed transaction.
func (p *parsedTxn) outcome(res client.TxnResult) txnOutcome {
	out := txnOutcome{Met: res.Met}
	branch := p.then
	if !res.Met {
		branch = p.otherwise
	}
	for i, a := range res.Results {
		out.Results = append(out.Results, branch[i].result(a))
	}
	for _, r := range res.Standing {
		c := txnCompare{
			keyField: newKeyField(r.Key), Found: r.Existed, Version: r.Value.Version, TTL: milliseconds(r.Value.TTL),
		}
		if r.Existed && p.show[r.Key] {
			c.valueField = newValueField(r.Value.Bytes)
		}
		out.Standing = append(out.Standing, c)
	}
	return out
}

func (o parsedOp) result(a client.Answer) txnResult {
	res := txnResult{keyField: newKeyField(o.key), Found: a.Found, Version: a.Value.Version}
	switch {
	case o.code == op.CodeAdd:
		res.Number = &a.Number
	case o.code == op.CodeGet && a.Found:
		res.valueField, res.TTL = newValueField(a.Value.Bytes), milliseconds(a.Value.TTL)
	}
	return res
}
