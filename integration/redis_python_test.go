package integration

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// python is the interpreter that has Debian's python3-redis.
const python = "/usr/bin/python3"

// TestRedisClientInPython uses three nodes through redis-py: strings, pipelines,
// transactions, and its mode for clusters.
func TestRedisClientInPython(t *testing.T) {
	t.Parallel()
	if err := exec.Command(python, "-c", "import redis.cluster").Run(); err != nil {
		t.Skipf("there is no redis-py; Debian's python3-redis has it: %v", err)
	}
	c := startCluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := []string{"testdata/redis_clients.py"}
	for _, n := range c.nodes {
		args = append(args, n.resp)
	}
	out, err := exec.CommandContext(ctx, python, args...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%v: %s", err, out)
	}
}
