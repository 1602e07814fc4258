package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

const (
	// countAt is the environment's variable by which this program becomes a client that
	// counts: the endpoints, with commas.
	countAt    = "RINGRAFT_TEST_COUNT_AT"
	countedKey = "counted"
	doubt      = "doubt"

	countTTL = op.MinSessionTTL * time.Millisecond
)

// count adds to a counter until nobody listens, and tells each sum, or that it is in
// doubt.
func count(endpoints string, to io.Writer) error {
	cl, err := client.New(context.Background(), client.Config{Endpoints: strings.Split(endpoints, ","), SessionTTL: countTTL})
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		sum, err := cl.Add(context.Background(), countedKey, 1)
		said := strconv.FormatInt(sum, 10)
		switch {
		case errors.Is(err, client.ErrUnknownOutcome):
			said = doubt
		case err != nil:
			continue
		}
		if _, err := fmt.Fprintln(to, said); err != nil {
			return nil // the test is over
		}
	}
}

// counted is what a counting process has told.
type counted struct {
	sums, doubts atomic.Int64
	last         atomic.Int64
	wrong        atomic.Pointer[string]
}

func (c *counted) listen(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if lines.Text() == doubt {
			c.doubts.Add(1)
			continue
		}
		sum, err := strconv.ParseInt(lines.Text(), 10, 64)
		if before := c.last.Swap(sum); err != nil || sum <= before {
			wrong := fmt.Sprintf("%q after %d", lines.Text(), before)
			c.wrong.Store(&wrong)
		}
		c.sums.Add(1)
	}
}

// more returns once the process has told n more sums.
func (c *counted) more(t *testing.T, n int64) {
	t.Helper()
	want := c.sums.Load() + n
	eventually(t, "the client counts", func() error {
		if now := c.sums.Load(); now < want {
			return fmt.Errorf("it has told %d sums, %d in doubt", now, c.doubts.Load())
		}
		return nil
	})
}

// TestPausedClientCountsOnce freezes a client process amid a write, whose leader dies, for
// a moment and until its session has ended. When it wakes it repeats the write, which
// is not done twice; in the session that has ended nobody can tell.
func TestPausedClientCountsOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cleanEnv(), countAt+"="+strings.Join(c.endpoints(), ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told counted
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		told.listen(out)
	}()
	end := func() {
		_ = cmd.Process.Kill() // it fails only for a process that has ended
		<-listened
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	told.more(t, 100)
	for _, pause := range []time.Duration{time.Second, countTTL + 2*time.Second} {
		leader := c.leader(1)
		leader.pause() // so that there is a write under way
		_ = wait(t.Context(), 100*time.Millisecond)
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		leader.kill() // and with it the answer
		leader.start()
		for begun := time.Now(); time.Since(begun) < pause; { // time goes on with entries
			c.set("other", "v")
			_ = wait(t.Context(), 50*time.Millisecond)
		}
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		told.more(t, 100)
	}
	end()
	if told.doubts.Load() == 0 {
		t.Error("no write was repeated in a session that had ended: the test proves nothing")
	}
	if wrong := told.wrong.Load(); wrong != nil {
		t.Errorf("the client was told %s", *wrong)
	}
	v, err := c.client.Get(t.Context(), countedKey, client.At(client.Linearizable))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := strconv.ParseInt(string(v.Bytes), 10, 64)
	sums, doubts := told.sums.Load(), told.doubts.Load()
	if err != nil || sum < sums || sum > sums+doubts+1 {
		t.Errorf("the counter is %q after %d writes done, %d in doubt and one that was killed", v.Bytes, sums, doubts)
	}
	t.Logf("%d writes, %d in doubt", sums, doubts)
}
