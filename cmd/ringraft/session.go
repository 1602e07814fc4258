package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/client"
)

const (
	// shortestSession is how long the cluster remembers the writes of a command that did
	// not get all answers, at least: time to resolve an unknown outcome.
	shortestSession = 5 * time.Minute
	// farewell bounds how long a command waits for its sessions' end, when all is done.
	farewell = 250 * time.Millisecond
)

// session is one run of a verb that talks to a cluster.
type session struct {
	*console
	c      *cli.Context
	inJSON bool
	client *client.Client // nil until the verb asks for it
}

// session returns the action that runs do. It checks the number of arguments and -o
// first; do connects once it has checked the rest.
func (con *console) session(least, most int, do func(ctx context.Context, s *session, args []string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := arguments(c, least, most)
		if err != nil {
			return err
		}
		inJSON, err := asJSON(c)
		if err != nil {
			return err
		}
		s := &session{console: con, c: c, inJSON: inJSON}
		defer s.close()
		return errors.Join(do(c.Context, s, args), s.keepToken())
	}
}

// connect returns the client of the cluster that the flags name.
func (s *session) connect() (*client.Client, error) {
	list, err := endpoints(s.c)
	if err != nil {
		return nil, err
	}
	timeout := s.c.Duration("timeout")
	if err := within("timeout", timeout, minTimeout, maxTimeout); err != nil {
		return nil, err
	}
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.c.Context, timeout)
	defer cancel()
	s.client, err = client.New(ctx, client.Config{
		Endpoints: list, RequestTimeout: timeout, SessionToken: token, SessionTTL: max(2*timeout, shortestSession),
		ConnsPerNode: s.c.Int("connections"), // 0 for verbs without that flag
	})
	return s.client, err
}

// close leaves nothing in the cluster but the sessions of unknown outcomes. Others that
// cannot be ended now end by themselves.
func (s *session) close() {
	if s.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.c.Context, farewell)
	defer cancel()
	_ = s.client.EndSessions(ctx)
	_ = s.client.Close() // it reports nothing that the verb's own error does not
}

// keys returns the keys that the arguments stand for.
func (s *session) keys(args []string) ([]string, error) {
	keys := make([]string, len(args))
	for i, text := range args {
		var err error
		if keys[i], err = keyArgument(text, s.c.Bool("key-base64")); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func (s *session) key(text string) (string, error) {
	return keyArgument(text, s.c.Bool("key-base64"))
}

// level returns the read option that --read asks for.
func (s *session) level() (client.ReadOption, error) {
	level, err := client.ParseLevel(s.c.String("read"))
	switch {
	case err != nil:
		return nil, usagef("--%w", err)
	case level == client.Session && s.c.String("session-token") == "" && takesToken(s.c.Command):
		return nil, usagef("--read session needs --session-token, which tells what there is to be seen")
	}
	return client.At(level), nil
}
