package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"strings"
)

// versions returns what the systems call themselves, by their names.
func (l *lab) versions(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for system, tool := range l.tools {
		var err error
		switch system {
		case etcd, nats:
			found[system], err = moduleVersion(tool.program)
		case ringraft:
			found[system], err = printedVersion(ctx, tool, "version")
		case redis:
			found[system], err = printedVersion(ctx, tool, "--version")
		}
		if err != nil {
			return nil, fmt.Errorf("asking for the version of %s: %w", system, err)
		}
	}
	return found, nil
}

// moduleVersion returns the version of the module that the program was built from.
func moduleVersion(path string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	return info.Main.Version, nil
}

// printedVersion returns the first line that the program prints.
func printedVersion(ctx context.Context, c command, args ...string) (string, error) {
	c.args = args
	out, err := c.exec(ctx).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	return line, err
}
