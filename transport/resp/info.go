package resp

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringraft/ringraft/transport/resp/script"
)

// likeRedis is the version of Redis whose behaviour this front follows.
const likeRedis = script.LikeRedis

// serverInfo answers sections of lines name:value.
func serverInfo(c *conn, q query, r *reply) error {
	var text strings.Builder
	wanted := func(name string) bool {
		return len(q.args) == 0 || slices.ContainsFunc(q.args, func(a []byte) bool {
			s := strings.ToLower(string(a))
			return s == name || s == "all" || s == "everything" || s == "default"
		})
	}
	for _, section := range []struct {
		name  string
		lines func(*conn) ([]string, error)
	}{
		{"Server", infoServer}, {"Clients", infoClients}, {"Memory", infoMemory}, {"Persistence", infoPersistence},
		{"Stats", infoStats}, {"Replication", infoReplication}, {"Cluster", infoCluster}, {"Keyspace", infoKeyspace},
	} {
		if !wanted(strings.ToLower(section.name)) {
			continue
		}
		lines, err := section.lines(c)
		if err != nil {
			return err
		}
		if text.Len() > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString("# " + section.name + "\r\n")
		for _, line := range lines {
			text.WriteString(line + "\r\n")
		}
	}
	r.verbatim(text.String())
	return nil
}

func infoServer(c *conn) ([]string, error) {
	uptime := int(time.Since(c.server.started).Seconds())
	_, port, _ := net.SplitHostPort(c.conn.LocalAddr().String()) // "" for a listener of another kind
	return []string{
		"redis_version:" + likeRedis, "redis_mode:standalone", "ringraft_version:" + c.server.cfg.Version,
		"ringraft_node:" + c.server.cfg.Node.ID(), "os:" + runtime.GOOS + " " + runtime.GOARCH, "arch_bits:" + strconv.Itoa(strconv.IntSize),
		"process_id:" + strconv.Itoa(os.Getpid()), "run_id:" + idOf(c.server.cfg.Node.ID()), "tcp_port:" + port,
		fmt.Sprintf("uptime_in_seconds:%d", uptime), fmt.Sprintf("uptime_in_days:%d", uptime/86400),
	}, nil
}

func infoClients(c *conn) ([]string, error) {
	return []string{
		fmt.Sprintf("connected_clients:%d", len(c.server.conns())),
		fmt.Sprintf("maxclients:%d", c.server.cfg.MaxConns), "blocked_clients:0",
	}, nil
}

func infoMemory(*conn) ([]string, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return []string{fmt.Sprintf("used_memory:%d", m.HeapAlloc), fmt.Sprintf("used_memory_rss:%d", m.Sys), "maxmemory_policy:allkeys-lru"}, nil
}

func infoPersistence(*conn) ([]string, error) {
	return []string{"loading:0", "aof_enabled:1", "aof_last_write_status:ok", "rdb_bgsave_in_progress:0"}, nil
}

func infoStats(c *conn) ([]string, error) {
	return []string{
		fmt.Sprintf("total_connections_received:%d", c.server.taken.Load()),
		fmt.Sprintf("total_commands_processed:%d", c.server.handled.Load()),
	}, nil
}

func infoReplication(c *conn) ([]string, error) {
	return []string{"role:master", "connected_slaves:0", fmt.Sprintf("ringraft_replicas_that_acknowledge:%d", c.majority())}, nil
}

// infoCluster lets clients in cluster mode connect, which ask for it.
func infoCluster(*conn) ([]string, error) { return []string{"cluster_enabled:1"}, nil }

func infoKeyspace(c *conn) ([]string, error) {
	ctx, cancel := c.limited()
	defer cancel()
	n, err := c.countKeys(ctx)
	if err != nil || n == 0 {
		return nil, err
	}
	return []string{fmt.Sprintf("db0:keys=%d,expires=0,avg_ttl=0", n)}, nil
}
