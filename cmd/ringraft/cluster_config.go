package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

func (con *console) clusterConfigCommand() *cli.Command {
	return &cli.Command{
		Name:        "config",
		Usage:       "read and change the cluster's settings",
		Description: "ringraft cluster config get\nringraft cluster config set max-bytes 1GiB",
		Subcommands: []*cli.Command{
			{
				Name:        "get",
				Usage:       "print a setting, or all",
				ArgsUsage:   "[NAME]",
				Description: "JSON is {NAME: VALUE, …}.\n\nringraft cluster config get\nringraft cluster config get max-bytes",
				Flags:       clientFlags(),
				Action:      con.session(0, 1, getConfig),
			},
			{
				Name:        "set",
				Usage:       "change a setting on all nodes",
				ArgsUsage:   "NAME VALUE",
				Description: "Settings:\n" + settingsHelp() + "\nringraft cluster config set max-bytes 1GiB",
				Flags:       clientFlags(),
				Action:      con.session(2, 2, setConfig),
			},
		},
	}
}

// settingsHelp lists the settings, a line each.
func settingsHelp() string {
	text := ""
	for _, s := range (placement.Settings{}).List() {
		text += "   " + s.Name + ": " + s.Help + "\n"
	}
	return text
}

func getConfig(ctx context.Context, s *session, args []string) error {
	cl, err := s.connect()
	if err != nil {
		return err
	}
	m, err := cl.Map(ctx)
	if err != nil {
		return fmt.Errorf("asking for the settings: %w", err)
	}
	chosen, err := chooseSettings(m.Settings.List(), args)
	if err != nil {
		return err
	}
	if s.inJSON {
		return s.printJSON(settingsDocument(chosen))
	}
	if len(args) == 1 {
		return s.print(chosen[0].Value)
	}
	t := newTable(s.out)
	for _, setting := range chosen {
		fmt.Fprintf(t, "%s\t%s\t%s\n", setting.Name, setting.Value, setting.Help)
	}
	return t.Flush()
}

// chooseSettings returns the setting that args names, or all.
func chooseSettings(all []placement.Setting, args []string) ([]placement.Setting, error) {
	if len(args) == 0 {
		return all, nil
	}
	for _, s := range all {
		if s.Name == args[0] {
			return []placement.Setting{s}, nil
		}
	}
	return nil, fmt.Errorf("setting %q: %w", args[0], op.ErrNotFound)
}

func settingsDocument(settings []placement.Setting) map[string]string {
	doc := make(map[string]string)
	for _, s := range settings {
		doc[s.Name] = s.Value
	}
	return doc
}

func setConfig(ctx context.Context, s *session, args []string) error {
	cl, err := s.connect()
	if err != nil {
		return err
	}
	if err := cl.SetConfig(ctx, args[0], args[1]); err != nil {
		return fmt.Errorf("changing %s: %w", args[0], err)
	}
	if s.inJSON {
		return s.printJSON(map[string]string{args[0]: args[1]})
	}
	return nil
}
