package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
)

// parseServer returns what a server would be run with.
func parseServer(t *testing.T, env map[string]string, args ...string) (serverConfig, error) {
	t.Helper()
	con := &console{out: new(bytes.Buffer), err: new(bytes.Buffer), lookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	app := con.app()
	var cfg serverConfig
	app.Command(serverName).Action = func(c *cli.Context) (err error) {
		cfg, err = newServerConfig(c)
		return err
	}
	args, err := arrange(app, append([]string{"ringraft", serverName}, args...))
	if err != nil {
		return cfg, err
	}
	err = app.RunContext(t.Context(), args)
	return cfg, err
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServerTakesFlagsThenEnvironmentThenFile(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, `
id: from-file
data: /file
native: 127.0.0.1:1
peer: 127.0.0.1:2
groups: 7
stop-timeout: 3s
insecure: true
min-free: 1GiB
log: shared
init:
  - from-flag=127.0.0.1:2
  - n2=127.0.0.1:3
`)
	env := map[string]string{"RINGRAFT_CONFIG": path, "RINGRAFT_DATA": "/env", "RINGRAFT_ID": "from-env", "RINGRAFT_ADVERTISE_PEER": "host:9"}
	got, err := parseServer(t, env, "--id", "from-flag")
	want := serverConfig{
		id: "from-flag", data: "/env", native: "127.0.0.1:1", peer: "127.0.0.1:2",
		advertiseNative: "127.0.0.1:1", advertisePeer: "host:9",
		init:   []shard.Member{{ID: "from-flag", Peer: "127.0.0.1:2"}, {ID: "n2", Peer: "127.0.0.1:3"}},
		groups: 7, replicas: 3, insecure: true, log: storage.LogShared, minFree: 1 << 30, stopTimeout: 3 * time.Second,
		heartbeat: 500 * time.Millisecond,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestServerRefusesFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, message string }{
		{"an unknown key", "id: n1\nnativ: 127.0.0.1:1\n", `line 2: "nativ"`},
		{"a key twice", "id: n1\nid: n2\n", `"id" stands there twice`},
		{"a bad value", "groups: many\n", "groups"},
		{"a mapping as a value", "init: {n1: a}\n", "init"},
		{"a list of lists", "init: [[a]]\n", "init"},
		{"no mapping", "- id\n", "no mapping"},
		{"no YAML", "id: [\n", "line"},
		{"another file", "config: other.yaml\n", `"config"`},
		{"a file too long", strings.Repeat("#", maxConfigFile+1), "longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := writeConfig(t, c.text)
			_, err := parseServer(t, nil, "--config", path)
			if exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), path) {
				t.Errorf("err = %v; want one with %q and the path", err, c.message)
			}
		})
	}
	if _, err := parseServer(t, nil, "--config", "/no/such/file"); exitCode(err) != exitUsage {
		t.Errorf("a file that is not there: err = %v", err)
	}
}

// FuzzParseConfigFile: any bytes are settings, each of them once, or an error.
func FuzzParseConfigFile(f *testing.F) {
	for _, seed := range []string{
		"", "id: n1\ninit: [n1=a:1, n2=b:2]\n", "a: &x 1\nb: *x\n", "- 1", "? [a]\n: b\n", "a: {b: c}\n", "<<: {a: b}\n", "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		settings, err := parseConfigFile(text)
		if err != nil && settings != nil {
			t.Fatalf("%+v and the error %v", settings, err)
		}
		seen := map[string]bool{}
		for _, s := range settings {
			if seen[s.flag] || s.line < 1 {
				t.Fatalf("%+v: a setting comes twice or stands nowhere", settings)
			}
			seen[s.flag] = true
		}
	})
}

func TestServerFlagsHaveBounds(t *testing.T) {
	t.Parallel()
	const good = "--id n1 --data /d --native 127.0.0.1:1 --peer [::1]:2"
	switch cfg, err := parseServer(t, nil, strings.Fields(good)...); {
	case err != nil:
		t.Fatal(err)
	case cfg.resp != "" || cfg.http != "":
		t.Errorf("without their flags there are fronts at %q and %q", cfg.resp, cfg.http)
	}
	for _, c := range []struct{ args, message string }{
		{"", "--id"},
		{"--id a/b", "--id"},
		{"--id n1", "--data"},
		{"--id n1 --data /d", "--native"},
		{"--id n1 --data /d --native 127.0.0.1", "--native"},
		{"--id n1 --data /d --native 127.0.0.1:99999", "--native"},
		{"--id n1 --data /d --native 0.0.0.0:1", "--insecure"},
		{"--id n1 --data /d --native :1", "--insecure"},
		{"--id n1 --data /d --native example.org:1", "--insecure"},
		{"--id n1 --data /d --native localhost:1 --peer 10.0.0.1:2", "--peer"},
		{"--id n1 --data /d --native 0.0.0.0:1 --peer 127.0.0.1:2 --insecure", "--advertise-native"},
		{good + " --advertise-peer :2", "--advertise-peer"},
		{good + " --advertise-resp host:1", "--advertise-resp"},
		{good + " --resp 127.0.0.1:1 --advertise-resp :1", "--advertise-resp"},
		{good + " --http 127.0.0.1", "--http"},
		{good + " --http 0.0.0.0:1", "--insecure"},
		{good + " --http-origins app.example", "--http-origins"},
		{good + " --http-origins https://a.example,https://b.example/path", "--http-origins"},
		{good + " --init n1", "--init"},
		{good + " --init n1=127.0.0.1", "--init"},
		{good + " --init a/b=127.0.0.1:1", "--init"},
		{good + " --groups 0", "--groups"},
		{good + " --log tape", "--log"},
		{good + " --replicas 8", "--replicas"},
		{good + " --min-free 0", "--min-free"},
		{good + " --min-free 64XB", "--min-free"},
		{good + " --stop-timeout 0s", "--stop-timeout"},
		{good + " --log-level loud", "--log-level"},
		{good + " --log-format xml", "--log-format"},
		{good + " extra", "takes"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			invocation{}.run(t, append([]string{serverName}, strings.Fields(c.args)...)...).check(t, exitUsage, "", c.message)
		})
	}
}

func TestServerSaysThatItIsInsecure(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	con := &console{err: &log}
	warnInsecure(con.logger("warn", "json"), serverConfig{insecure: true, native: "0.0.0.0:1"})
	if !strings.Contains(log.String(), `"level":"WARN"`) || !strings.Contains(log.String(), "no encryption") {
		t.Errorf("log %q; want a warning", log.String())
	}
	log.Reset()
	warnInsecure(con.logger("warn", "text"), serverConfig{})
	if log.Len() != 0 {
		t.Errorf("log %q; want nothing", log.String())
	}
}

func TestRedisClientsAreToldOfAHost(t *testing.T) {
	t.Parallel()
	const good = "--id n1 --data /d --native 0.0.0.0:1 --advertise-native cache1:11 --peer 127.0.0.1:2 --insecure "
	for args, want := range map[string]string{
		"":                                  "",
		"--resp 127.0.0.1:6379":             "127.0.0.1:6379",
		"--resp 0.0.0.0:6379":               "cache1:6379",
		"--resp :6379":                      "cache1:6379",
		"--resp [::]:6379":                  "cache1:6379",
		"--resp :6379 --advertise-resp h:7": "h:7",
	} {
		if cfg, err := parseServer(t, nil, strings.Fields(good+args)...); err != nil || cfg.advertiseResp != want {
			t.Errorf("%s: %q, %v; want %q", args, cfg.advertiseResp, err, want)
		}
	}
}
