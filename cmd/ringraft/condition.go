package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/document"
)

// conditionHelp is what the verbs say of conditions.
const conditionHelp = "Where the condition does not hold, nothing changes, and the exit code is 4: standard error, or\n" +
	"JSON {\"key\",\"met\":false,\"found\",\"version\",\"ttl_ms\"}, tells what stands there, with --show also the value.\n"

// conditionFlags are the flags of a write that may depend on what stands at its key.
func conditionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "if-absent", Usage: "only if nothing stands at the key"},
		&cli.BoolFlag{Name: "if-present", Usage: "only if something does"},
		&cli.StringFlag{Name: "if-version", Usage: "only if version `NUMBER` stands there"},
		&cli.StringFlag{Name: "if-value", Usage: "only if the value `TEXT` stands there"},
		&cli.BoolFlag{Name: "show", Usage: "if the condition does not hold, show the value that stands there"},
	}
}

// withConditionFlags returns own, then the flags of every write of one key.
func withConditionFlags(own ...cli.Flag) []cli.Flag {
	return withClientFlags(append(append(own, conditionFlags()...), keyFlag(), tokenFlag())...)
}

// conditions returns the options that the flags ask for.
func conditions(c *cli.Context) ([]client.WriteOption, error) {
	var opts []client.WriteOption
	given := ""
	for _, name := range []string{"if-absent", "if-present", "if-version", "if-value"} {
		if !c.IsSet(name) {
			continue
		}
		if given != "" {
			return nil, usagef("--%s and --%s exclude each other", given, name)
		}
		given = name
		opt, err := condition(c, name)
		if err != nil {
			return nil, err
		}
		opts = append(opts, opt)
	}
	if c.Bool("show") {
		if given == "" && !c.IsSet("at-least") && !c.IsSet("at-most") {
			return nil, usagef("--show needs a condition")
		}
		opts = append(opts, client.ShowValue())
	}
	return opts, nil
}

func condition(c *cli.Context, flag string) (client.WriteOption, error) {
	switch flag {
	case "if-absent":
		return client.IfAbsent(), nil
	case "if-present":
		return client.IfPresent(), nil
	case "if-value":
		return client.IfValue([]byte(c.String(flag))), nil
	}
	text := c.String(flag)
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil || version == 0 || strconv.FormatUint(version, 10) != text {
		return nil, usagef("--%s is %q; versions are 1, 2, 3 and so on", flag, text)
	}
	return client.IfVersion(version), nil
}

// standing is what stands at a key whose condition does not hold, in JSON.
type standing struct {
	document.KeyField
	*document.ValueField        // with --show
	Met                  bool   `json:"met"`
	Found                bool   `json:"found"`
	Version              uint64 `json:"version,omitempty"`
	TTL                  *int64 `json:"ttl_ms"`
}

// failure returns the error of a write of key that failed with err while it did what
// action says. If a condition did not hold, it tells what stands there.
func (s *session) failure(action, key string, err error) error {
	var unmet *client.ConditionError
	if !errors.As(err, &unmet) {
		return fmt.Errorf("%s %s: %w", action, quoted(key), err)
	}
	shown := unmet.Found && s.c.Bool("show")
	if s.inJSON {
		doc := standing{KeyField: newKey(key), Found: unmet.Found, Version: unmet.Version, TTL: milliseconds(unmet.TTL)}
		if shown {
			doc.ValueField = newValue(unmet.Value)
		}
		if err := s.printJSON(doc); err != nil {
			return err
		}
	}
	if shown {
		return fmt.Errorf("%s %s: %w: %s", action, quoted(key), err, escape(string(unmet.Value)))
	}
	return fmt.Errorf("%s %s: %w", action, quoted(key), err)
}
