package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/op"
)

func (con *console) delCommand() *cli.Command {
	return &cli.Command{
		Name:      "del",
		Usage:     "remove keys",
		ArgsUsage: "KEY…",
		Description: "Prints how many were there. An absent key is no error. JSON is {\"deleted\",\"keys\":[{\"key\",\n" +
			"\"deleted\",\"version\"}]}; where some keys failed, theirs have \"error\", and the exit code tells.\n" +
			"A condition goes with one KEY. " + conditionHelp + "\n" +
			"ringraft del greeting\nringraft del a b c -o json\nringraft del lock --if-value mine",
		Flags:  withConditionFlags(),
		Action: con.session(1, op.MaxKeys, del),
	}
}

type deletion struct {
	document.KeyField
	Deleted bool   `json:"deleted"`
	Version uint64 `json:"version,omitempty"` // of the removal
	Error   string `json:"error,omitempty"`
}

func del(ctx context.Context, s *session, args []string) error {
	keys, err := s.keys(args)
	if err != nil {
		return err
	}
	opts, err := conditions(s.c)
	if err != nil {
		return err
	}
	if len(opts) > 0 && len(keys) > 1 {
		return usagef("a condition goes with one KEY, got %d", len(keys))
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	if len(opts) > 0 {
		return s.delIf(ctx, cl, keys[0], opts)
	}
	results, failed := cl.DeleteMany(ctx, keys)
	allFailed := !slices.ContainsFunc(results, func(r client.Result) bool { return r.Err == nil })
	if s.inJSON || !allFailed { // a count of 0 would say that there were none
		if err := s.printDeleted(results); err != nil {
			return err
		}
	}
	if failed != nil {
		return fmt.Errorf("removing keys: %w", failed)
	}
	return nil
}

// printDeleted tells which keys were there, and which failed.
func (s *session) printDeleted(results []client.Result) error {
	count := 0
	deleted := make([]deletion, len(results))
	for i, r := range results {
		deleted[i] = deletion{KeyField: newKey(r.Key), Deleted: r.Existed, Version: r.Value.Version}
		if r.Err != nil {
			deleted[i].Error = r.Err.Error()
		}
		if r.Existed {
			count++
		}
	}
	return s.printCount("deleted", count, deleted)
}

// delIf removes a key on a condition.
func (s *session) delIf(ctx context.Context, cl *client.Client, key string, opts []client.WriteOption) error {
	existed, err := cl.Delete(ctx, key, opts...)
	if err != nil {
		return s.failure("removing", key, err)
	}
	return s.printDeleted([]client.Result{{Key: key, Existed: existed}})
}
