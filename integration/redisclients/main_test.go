package redisclients

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) {
	logging.Disable() // connections that tests break
	code := m.Run()
	if dir, err := scratch(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// scratch is a directory that lasts as long as the test program.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "ringraft-redisclients-") })

// program builds ringraft from the module around this one, once, and returns its path.
var program = sync.OnceValues(func() (path string, err error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "ringraft")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/ringraft")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return path, cmd.Run()
})

// TestClients has clients of all kinds use one cluster at the same time, each with keys
// of its own.
func TestClients(t *testing.T) {
	t.Parallel()
	d := start(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *dev)
	}{
		{"go-redis: strings", goRedisStrings},
		{"go-redis: keys", goRedisKeys},
		{"go-redis: expiry", goRedisExpiry},
		{"go-redis: errors", goRedisErrors},
		{"go-redis: server", goRedisServer},
		{"go-redis: pipelines", goRedisPipelines},
		{"go-redis: transactions", goRedisTransactions},
		{"go-redis: watched counter", goRedisWatch},
		{"go-redis: scan", goRedisScan},
		{"go-redis: pool", goRedisPool},
		{"go-redis: cluster mode", goRedisCluster},
		{"redis-cli: commands", cliCommands},
		{"redis-cli: standard input", cliInput},
		{"redis-cli: mass insertion", cliPipe},
		{"redis-cli: looks at keys", cliKeys},
		{"redis-cli: latency", cliLatency},
		{"redis-cli: cluster mode", cliCluster},
		{"redis-benchmark", benchmark},
		{"go-redis: scripts", goRedisScripts},
		{"redis-cli: scripts", cliEval},
		{"redsync", redsyncLocks},
		{"redislock", redislockLocks},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, d)
		})
	}
}
