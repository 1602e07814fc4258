package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"
)

// maxConfigFile bounds a file of flags, in bytes.
const maxConfigFile = 1 << 20

// fillFromFile sets the flags that are still unset from the file --config, if it is
// given. Its keys are the flags' names, its values scalars or lists of them.
func fillFromFile(c *cli.Context) error {
	path := c.String("config")
	if path == "" {
		return nil
	}
	settings, err := readConfigFile(path)
	if err != nil {
		return usagef("--config %s: %w", path, err)
	}
	for _, s := range settings {
		if !slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return settable(f, s.flag) }) {
			return usagef("--config %s: line %d: %q is no setting of a server", path, s.line, s.flag)
		}
		if c.IsSet(s.flag) {
			continue
		}
		if err := c.Set(s.flag, s.value); err != nil {
			return usagef("--config %s: line %d: %s is %q: %w", path, s.line, s.flag, s.value, err)
		}
	}
	return nil
}

// settable reports whether f is the flag name and may stand in a file.
func settable(f cli.Flag, name string) bool {
	return f.Names()[0] == name && name != "config" && name != "help"
}

// fileSetting is a key of the file.
type fileSetting struct {
	flag, value string
	line        int
}

func readConfigFile(path string) ([]fileSetting, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfigFile {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxConfigFile)
	}
	return parseConfigFile(text)
}

func parseConfigFile(text []byte) ([]fileSetting, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("the file is no mapping of settings to values")
	}
	settings := make([]fileSetting, 0, len(root.Content)/2)
	for pair := range slices.Chunk(root.Content, 2) {
		key, node := pair[0], pair[1]
		if slices.ContainsFunc(settings, func(s fileSetting) bool { return s.flag == key.Value }) {
			return nil, fmt.Errorf("line %d: %q stands there twice", key.Line, key.Value)
		}
		value, err := scalarOf(node)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", key.Line, key.Value, err)
		}
		settings = append(settings, fileSetting{flag: key.Value, value: value, line: key.Line})
	}
	return settings, nil
}

// scalarOf returns a flag's value; a list becomes its elements with commas between.
func scalarOf(node *yaml.Node) (string, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Value, nil
	case yaml.SequenceNode:
		var parts []string
		for _, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return "", errors.New("the list holds something other than plain values")
			}
			parts = append(parts, n.Value)
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("is no plain value and no list of them")
}
