package main

import (
	"math"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
)

// serverConfig is what the flags of a server say, checked.
type serverConfig struct {
	id              string
	data            string // directory
	native          string // where to listen
	peer            string
	resp            string   // for Redis clients; "" is nowhere
	http            string   // "" for none
	httpOrigins     []string // of web pages that may use it
	advertiseNative string   // where others find the node
	advertisePeer   string
	advertiseResp   string // "" if there is no resp
	init            []shard.Member
	groups          int
	replicas        int
	insecure        bool
	log             storage.LogKind // "" for that of the directory
	minFree         int64           // bytes
	stopTimeout     time.Duration
	heartbeat       time.Duration
}

func newServerConfig(c *cli.Context) (serverConfig, error) {
	cfg := serverConfig{
		id:              c.String("id"),
		data:            c.String("data"),
		native:          c.String("native"),
		peer:            c.String("peer"),
		resp:            c.String("resp"),
		http:            c.String("http"),
		advertiseNative: c.String("advertise-native"),
		advertisePeer:   c.String("advertise-peer"),
		advertiseResp:   c.String("advertise-resp"),
		groups:          c.Int("groups"),
		replicas:        c.Int("replicas"),
		insecure:        c.Bool("insecure"),
		stopTimeout:     c.Duration("stop-timeout"),
		heartbeat:       c.Duration("heartbeat"),
	}
	if cfg.advertiseNative == "" {
		cfg.advertiseNative = cfg.native
	}
	if cfg.advertisePeer == "" {
		cfg.advertisePeer = cfg.peer
	}
	if cfg.advertiseResp == "" {
		cfg.advertiseResp = atHostOf(cfg.advertiseNative, cfg.resp)
	}
	if list := c.String("http-origins"); list != "" {
		cfg.httpOrigins = strings.Split(list, ",")
	}
	var err error
	if cfg.init, err = parseInit(c.String("init")); err != nil {
		return cfg, err
	}
	if cfg.log, err = logKind(c); err != nil {
		return cfg, err
	}
	if cfg.minFree, err = placement.ParseSize(c.String("min-free")); err != nil {
		return cfg, usagef("--min-free: %w", err)
	}
	if err := oneOf("log-level", c.String("log-level"), "debug", "info", "warn", "error"); err != nil {
		return cfg, err
	}
	if err := oneOf("log-format", c.String("log-format"), "text", "json"); err != nil {
		return cfg, err
	}
	return cfg, cfg.check()
}

func (cfg *serverConfig) check() error {
	if err := placement.CheckNodeID(cfg.id); err != nil {
		return usagef("--id: %w", err)
	}
	if cfg.data == "" {
		return usagef("--data is empty; it names the directory that holds what the node keeps")
	}
	for _, a := range []struct{ flag, addr string }{
		{"native", cfg.native}, {"peer", cfg.peer}, {"resp", cfg.resp},
	} {
		if a.flag == "resp" && a.addr == "" {
			continue
		}
		if err := checkListen(a.flag, a.addr, cfg.insecure); err != nil {
			return err
		}
	}
	if cfg.http != "" {
		if err := checkListen("http", cfg.http, cfg.insecure); err != nil {
			return err
		}
	}
	if cfg.advertiseResp != "" && cfg.resp == "" {
		return usagef("--advertise-resp is %q, but without --resp there are no Redis clients", cfg.advertiseResp)
	}
	if err := checkOrigins(cfg.httpOrigins); err != nil {
		return err
	}
	for _, a := range []struct{ flag, addr string }{
		{"advertise-native", cfg.advertiseNative}, {"advertise-peer", cfg.advertisePeer},
	} {
		if err := checkAdvertised(a.flag, a.addr); err != nil {
			return err
		}
	}
	if cfg.advertiseResp != "" {
		if err := checkAdvertised("advertise-resp", cfg.advertiseResp); err != nil {
			return err
		}
	}
	if err := within("groups", cfg.groups, 1, 1024); err != nil {
		return err
	}
	if err := within("replicas", cfg.replicas, 1, 7); err != nil {
		return err
	}
	if err := within("min-free", cfg.minFree, 1, math.MaxInt64); err != nil {
		return err
	}
	if err := within("heartbeat", cfg.heartbeat, 50*time.Millisecond, time.Minute); err != nil {
		return err
	}
	return within("stop-timeout", cfg.stopTimeout, 100*time.Millisecond, time.Hour)
}

// checkListen refuses an address that others could reach unless that is wanted.
func checkListen(flag, addr string, insecure bool) error {
	host, err := hostOf(flag, addr)
	if err != nil {
		return err
	}
	if !insecure && !loopback(host) {
		return usagef("--%s is %q, which is not loopback, and there is no encryption and no authentication yet: use 127.0.0.1, or say --insecure", flag, addr)
	}
	return nil
}

// checkAdvertised refuses an address that nobody can dial.
func checkAdvertised(flag, addr string) error {
	host, err := hostOf(flag, addr)
	if err != nil {
		return err
	}
	if everyInterface(host) {
		return usagef("--%s is %q, an address that nobody can dial; name a host", flag, addr)
	}
	return nil
}

// everyInterface reports whether to listen at host is to listen at all addresses there are.
func everyInterface(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// atHostOf returns addr, or the same port of known's host if addr is every interface.
func atHostOf(known, addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || !everyInterface(host) {
		return addr
	}
	host, _, err = net.SplitHostPort(known)
	if err != nil {
		return addr // both are refused by check
	}
	return net.JoinHostPort(host, port)
}

// checkOrigins refuses what no browser sends as an origin.
func checkOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin) {
			return usagef("--http-origins has %q; an origin is SCHEME://HOST or SCHEME://HOST:PORT, or * for all", origin)
		}
	}
	return nil
}

func hostOf(flag, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usagef("--%s is %q; it is HOST:PORT", flag, addr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", usagef("--%s is %q; its port is a number between 0 and 65535", flag, addr)
	}
	return host, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parseInit returns the members in ID=PEER,ID=PEER,…
func parseInit(text string) ([]shard.Member, error) {
	if text == "" {
		return nil, nil
	}
	var members []shard.Member
	for part := range strings.SplitSeq(text, ",") {
		id, peer, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return nil, usagef("--init has %q; it is a list ID=HOST:PORT,ID=HOST:PORT,…", part)
		}
		if err := placement.CheckNodeID(id); err != nil {
			return nil, usagef("--init: %w", err)
		}
		if err := checkAdvertised("init", peer); err != nil {
			return nil, err
		}
		members = append(members, shard.Member{ID: id, Peer: peer})
	}
	return members, nil
}
