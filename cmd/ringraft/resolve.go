package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

func (con *console) resolveCommand() *cli.Command {
	return &cli.Command{
		Name:      "resolve",
		Usage:     "ask what became of a write of unknown outcome",
		ArgsUsage: "TICKET|TRANSACTION|-",
		Description: "A command that ends with exit code 6 prints a ticket, of which the outcome is asked for here; - takes\n" +
			"it from standard input. If the write was done, its first answer is printed as its command would have,\n" +
			"and nothing is done again. If it never arrived, it is done now. A transaction over several groups is\n" +
			"not repeated: exit code 5 says that it was aborted. Answers are remembered for five minutes, or twice\n" +
			"the --timeout that the write had if that is longer; then exit code 6: look what stands there.\n\n" +
			"TRANSACTION is the id of a transaction over several groups, as in the message. Prints committed,\n" +
			"aborted or undecided, which is also what is forgotten; in JSON {\"id\",\"outcome\"}.\n\n" +
			"ringraft resolve ringraft-ticket.hadncm91cAE…\nringraft resolve - < ringraft-ticket-42\n" +
			"ringraft resolve 3fa-0123456789abcdef0123456789abcdef",
		Flags:  withClientFlags(tokenFlag()),
		Action: con.session(1, 1, resolve),
	}
}

// maxTicketText bounds what is read as a ticket, in bytes: base64 of the longest request.
const maxTicketText = 2 * op.MaxMessage

func resolve(ctx context.Context, s *session, args []string) error {
	text := args[0]
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(s.in, maxTicketText))
		if err != nil {
			return fmt.Errorf("reading the ticket: %w", err)
		}
		text = strings.TrimSpace(string(read))
	}
	if !strings.HasPrefix(text, client.TicketPrefix) {
		return s.resolveID(ctx, text)
	}
	ticket, err := client.ParseTicket(text)
	if err != nil {
		return err
	}
	o, err := op.Decode(ticket.Operation)
	if err != nil {
		return op.Invalid("ticket", "holds no operation: %v", err)
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	r, err := cl.Resolve(ctx, ticket)
	if err != nil {
		return s.failure("asking for the outcome of "+o.Code().String(), keyOf(o), err)
	}
	return s.printResolution(o, r)
}

// keyOf returns the key of an operation on one key.
func keyOf(o op.Op) string {
	if keys := op.Keys(o); len(keys) == 1 {
		return string(keys[0])
	}
	return ""
}

// resolveID tells what became of a transaction over several groups.
func (s *session) resolveID(ctx context.Context, text string) error {
	id, err := client.ParseTxnID(text)
	if err != nil {
		return usagef("%s is neither a ticket, which starts with %s, nor the id of a transaction", quoted(text), client.TicketPrefix)
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	outcome, err := cl.GetTxn(ctx, id)
	if err != nil {
		return fmt.Errorf("asking for transaction %v: %w", id, err)
	}
	if s.inJSON {
		return s.printJSON(map[string]string{"id": id.String(), "outcome": outcome.String()})
	}
	return s.print(outcome)
}

// printResolution prints what the write o came to, as its own verb does.
func (s *session) printResolution(o op.Op, r client.Resolution) error {
	key := keyOf(o)
	switch o := o.(type) {
	case op.Set:
		return s.printVersion(key, r.Value.Version)
	case op.Add:
		return s.printNumber(key, r.Number)
	case op.Expire:
		if !r.Found {
			return fmt.Errorf("changing the TTL of %s: %w", quoted(key), client.ErrNotFound)
		}
		return s.printChanged(key)
	case op.Delete:
		return s.printDeleted([]client.Result{{Key: key, Existed: r.Found, Value: r.Value}})
	case op.MDelete:
		return s.printDeleted(r.Keys)
	case op.Txn:
		return s.printTxn(newTxnOutcome(o, r.Txn))
	}
	return s.printStored(r.Keys)
}

// printStored tells what an operation has put at several keys.
func (s *session) printStored(results []client.Result) error {
	type stored struct {
		document.KeyField
		Version uint64 `json:"version"`
	}
	var docs []stored
	for _, r := range results {
		docs = append(docs, stored{newKey(r.Key), r.Value.Version})
	}
	return s.printCount("stored", len(docs), docs)
}
