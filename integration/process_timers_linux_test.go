package integration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestThreadsOfANodeLetTheKernelWakeThemLate: all of them, as the process has executed
// itself again before there were any, and under the number that it was started with.
func TestThreadsOfANodeLetTheKernelWakeThemLate(t *testing.T) {
	t.Parallel()
	n := startCluster(t, 1).nodes[0]
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", n.process.Pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, thread := range threads {
		slack, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns")
		switch {
		case errors.Is(err, syscall.EPERM):
			t.Skip("only those with CAP_SYS_NICE may see it")
		case errors.Is(err, os.ErrNotExist):
			continue // the thread has ended
		case err != nil:
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(slack)); got != "1000000" {
			t.Errorf("thread %s has %s ns", thread.Name(), got)
		}
	}
}
