package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// freeAddress returns a loopback address that nobody listens on now. A server is told
// its port before it listens; one that the system chose could be given away again
// meanwhile, so this one lies below those.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(20_000))))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

func TestServerStoresWhatItIsGivenAndKeepsIt(t *testing.T) {
	t.Parallel()
	native, peer, data := freeAddress(t), freeAddress(t), filepath.Join(t.TempDir(), "n1")
	serving := func(do func()) {
		t.Helper()
		r, w := io.Pipe()
		var log bytes.Buffer
		con := &console{in: r, out: io.Discard, err: &log, lookupEnv: func(string) (string, bool) { return "", false }}
		code := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			code = con.run(context.WithoutCancel(t.Context()), []string{
				"ringraft", "server", "--id", "n1", "--data", data, "--native", native, "--peer", peer,
				"--init", "n1=" + peer, "--groups", "2", "--stop-with-stdin",
			})
		})
		do()
		w.Close()
		wg.Wait()
		if code != exitDone {
			t.Errorf("the server ended with code %d:\n%s", code, log.String())
		}
	}
	run := func(args ...string) outcome {
		return invocation{}.run(t, append(args, "--endpoints", native, "--timeout", "20s")...)
	}
	await := func() {
		for ready(t.Context(), []string{native}) != nil {
			if !pause(t.Context(), readyPoll) {
				t.Fatal("the test ended first")
			}
		}
	}
	serving(func() {
		await()
		run("set", "greeting", "hello").check(t, exitDone, "version 1\n", "")
	})
	serving(func() {
		await()
		run("get", "greeting").check(t, exitDone, "hello", "")
		invocation{}.run(t, "server", "--id", "n2", "--data", data, "--native", "127.0.0.1:0", "--advertise-native", native, "--peer", peer).
			check(t, exitFailed, "", "--data "+data)
	})
}
