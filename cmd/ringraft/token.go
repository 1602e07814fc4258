package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
)

// maxTokenFile bounds a file with a session token, in bytes.
const maxTokenFile = 1 << 20

func tokenFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "session-token",
		Usage: "`FILE` that tells --read session what commands have seen; it is made or rewritten. Or the text in such a file",
	}
}

// takesToken reports whether the command goes on where earlier ones have been.
func takesToken(cmd *cli.Command) bool {
	return slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return f.Names()[0] == "session-token" })
}

// token returns the session token that --session-token gives, "" for none.
func (s *session) token() (string, error) {
	given := s.c.String("session-token")
	if given == "" || strings.HasPrefix(given, client.TokenPrefix) {
		return given, nil
	}
	f, err := os.Open(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("--session-token: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return "", fmt.Errorf("--session-token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if !strings.HasPrefix(token, client.TokenPrefix) {
		return "", usagef("--session-token: %s holds no session token", given)
	}
	return token, nil
}

// keepToken writes what the command has seen into the file that --session-token names.
func (s *session) keepToken() error {
	path := s.c.String("session-token")
	if s.client == nil || path == "" || strings.HasPrefix(path, client.TokenPrefix) {
		return nil
	}
	if err := replaceFile(path, s.client.SessionToken()+"\n"); err != nil {
		return fmt.Errorf("--session-token: %w", err)
	}
	return nil
}

// replaceFile puts a file at path, whole or not at all.
func replaceFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to report
	}
	return err
}
