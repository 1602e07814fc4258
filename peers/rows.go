package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The rows: what can be measured.
const (
	rowWrites       = "writes"
	rowGroups       = "groups"
	rowReads        = "reads"
	rowLinearizable = "linearizable"
	rowMixed        = "mixed"
	rowKill         = "kill"
	rowSilence      = "silence"
	rowSteady       = "steady"
	rowSnapshot     = "snapshot"
	rowMemory       = "memory"
	rowIdle         = "idle"
	rowBare         = "bare"
)

func rowNames() []string {
	return []string{rowWrites, rowGroups, rowReads, rowLinearizable, rowMixed, rowKill, rowSilence, rowSteady, rowSnapshot, rowMemory, rowIdle, rowBare}
}

func systemNames() []string { return []string{ringraft, etcd, nats, redis, echo, bare} }

// The units of what is read.
const (
	opsPerS = "ops/s"
	p99     = "p99 ms"
	gap     = "gap ms"
	unsent  = "not sent"
	cpu     = "% of a core"
	memory  = "MB"

	seconds = "s"
	entries = "entries"

	elections     = "elections"
	ratioOfP99    = "ratio of p99"
	ofRate        = "% of the rate"
	answered      = "% answered"
	bytesOver     = "B over key and value"
	collectionCPU = "ms of CPU"
	cpuOfEach     = "µs of CPU for each"
)

// scenario is a system, started in one way, and what is measured of it. Cases of one
// row with the same name are compared, whatever their system.
type scenario struct {
	row, system, setup string
	start              func(context.Context, *lab) (*cluster, error)
	cases              []measure
}

type measure struct {
	name    string
	units   []string // of what is read
	measure func(context.Context, *cluster) ([]reading, error)
}

// read measures, and sees to it that what is read is what the measure says.
func (m measure) read(ctx context.Context, c *cluster) ([]reading, error) {
	readings, err := m.measure(ctx, c)
	if err != nil {
		return nil, err
	}
	unread := slices.Clone(m.units)
	for _, r := range readings {
		if !slices.Contains(m.units, r.unit) {
			return nil, fmt.Errorf("%q is read, which is none of %q", r.unit, m.units)
		}
		unread = slices.DeleteFunc(unread, func(unit string) bool { return unit == r.unit })
	}
	if len(unread) > 0 {
		return nil, fmt.Errorf("%q is not read", unread)
	}
	return readings, nil
}

type reading struct {
	unit  string
	value float64
	busy  *busy // meanwhile; nil: that is not known
}

// scenarios are all measures, in the order of the table.
func scenarios() []scenario {
	peerClients := []int{64, 256, 1024}
	all := append([]int{1}, peerClients...)
	return []scenario{
		{rowWrites, ringraft, "1 group", startRingraft(1, false), writes("", all...)},
		{rowWrites, etcd, "", startEtcd, writes("", peerClients...)},
		{rowWrites, nats, "", startNATS, writes("", peerClients...)},
		{rowWrites, redis, "2 replicas", startReplicated, writes("", peerClients...)},
		{rowGroups, ringraft, "4 groups", startRingraft(4, false), writes("4 groups, ", all...)},
		{rowGroups, ringraft, "16 groups led by one", startRingraft(16, true), writes("16 led by one, ", all...)},
		{rowGroups, ringraft, "16 groups", startRingraft(16, false), writes("16 spread, ", all...)},
		{rowReads, ringraft, "one node of three", startRingraft(4, false), append(localReads("", ringraftReads), localReads(byRESP, respReads)...)},
		{rowReads, redis, "one server", startRedis, localReads("", redisReads)},
		{rowReads, echo, "one server", startEcho, localReads("", echoReads)},
		{rowLinearizable, ringraft, "4 groups", startRingraft(4, false), []measure{linearizable(256)}},
		{rowLinearizable, etcd, "", startEtcd, []measure{linearizable(256)}},
		{rowMixed, ringraft, "4 groups", startRingraft(4, false), mixedLoads()},
		{rowKill, ringraft, "16 groups", startRingraft(16, false), []measure{gaps("SIGKILL", killed)}},
		{rowSilence, ringraft, "16 groups", startRingraft(16, false), []measure{gaps("SIGSTOP", stopped)}},
		{rowSilence, ringraft, "16 groups, a network of namespaces", startWired(16), cuts()},
		{rowSteady, ringraft, "4 groups", startRingraft(4, false), steadyLoad(4)},
		{rowSteady, ringraft, "16 groups", startRingraft(16, false), steadyLoad(16)},
		{rowSnapshot, ringraft, "4 groups", startFilled, snapshotLoads()},
		{rowMemory, ringraft, "one process", startNothing, []measure{{memoryCase, []string{bytesOver, collectionCPU, entries}, memoryOfRecords}}},
		{rowIdle, ringraft, "4 groups", startRingraft(4, false), idleness(4)},
		{rowIdle, ringraft, "16 groups", startRingraft(16, false), idleness(16)},
		{rowIdle, ringraft, "64 groups", startRingraft(64, false), idleness(64)},
		{rowBare, bare, "three processes", startBare, bareEntries()},
	}
}

// loaded is a case that a closed loop measures.
func loaded(name string, args ...string) measure {
	return measure{name, []string{opsPerS, p99}, func(ctx context.Context, c *cluster) ([]reading, error) {
		r, err := c.load(ctx, c.lab.duration, warmup, args...)
		switch {
		case err != nil:
			return nil, err
		case r.Errors+r.Unknown > r.OK/100:
			return nil, fmt.Errorf("%d of %d requests failed", r.Errors+r.Unknown, r.OK+r.Errors+r.Unknown)
		}
		return []reading{r.read(opsPerS, r.OpsPerS), r.read(p99, r.P99)}, nil
	}}
}

func writes(prefix string, clients ...int) []measure {
	var list []measure
	for _, n := range clients {
		name := prefix + strconv.Itoa(n) + " clients"
		if n == 1 {
			name = prefix + "1 client"
		}
		list = append(list, loaded(name, "--op", "set", "--clients", strconv.Itoa(n)))
	}
	return list
}

// linearizable reads are the default of Ringraft's bench and of etcd.
func linearizable(clients int) measure {
	return loaded(fmt.Sprintf("%d clients", clients), "--op", "get", "--clients", strconv.Itoa(clients))
}

// byRESP is what the names of cases begin with in which Ringraft is read as Redis is.
const byRESP = "RESP, "

func readCase(prefix string, pipeline int) string {
	return fmt.Sprintf("%s50 connections × %d", prefix, pipeline)
}

// localReads are asked of one node, over 50 connections. args are what the system needs for that.
func localReads(prefix string, args func(*cluster) []string) []measure {
	var list []measure
	for _, pipeline := range []int{1, 16} {
		m := loaded(readCase(prefix, pipeline))
		m.measure = func(ctx context.Context, c *cluster) ([]reading, error) {
			all := append(args(c), "--op", "get", "--clients", "50", "--pipeline", strconv.Itoa(pipeline))
			return loaded(m.name, all...).measure(ctx, c)
		}
		list = append(list, m)
	}
	return list
}

func ringraftReads(c *cluster) []string {
	first, _, _ := strings.Cut(c.loadArgs[2], ",")
	return []string{"--read", "local", "--wire", "--endpoints", first}
}

// respReads are at level session, which a connection of Redis's protocol has.
func respReads(c *cluster) []string { return []string{"--resp", c.resp} }

func redisReads(*cluster) []string { return nil }

const (
	mixedRate    = 100_000
	mixedClients = "256"
)

func mixedCase(rate int) string { return fmt.Sprintf("90/10, %s/s offered", commas(float64(rate))) }

// mixedLoads are open loops, up to the rate that is to be held.
func mixedLoads() []measure {
	var list []measure
	for _, rate := range []int{mixedRate / 4, mixedRate / 2, mixedRate} {
		list = append(list, mixed(rate))
	}
	return list
}

// mixed is an open loop of 90 % local reads and 10 % writes.
func mixed(rate int) measure {
	units := []string{opsPerS, p99, unsent, ofRate, answered}
	return measure{mixedCase(rate), units, func(ctx context.Context, c *cluster) ([]reading, error) {
		r, err := c.load(ctx, c.lab.duration, warmup, "--reads", "90%", "--read", "local", "--rate", strconv.Itoa(rate), "--clients", mixedClients)
		return []reading{
			r.read(opsPerS, r.OpsPerS), r.read(p99, r.P99), r.read(unsent, float64(r.Unsent)),
			r.read(ofRate, 100*r.OpsPerS/float64(rate)), r.read(answered, r.answered()),
		}, err
	}}
}

func idleness(groups int) []measure {
	return []measure{{groupsCase(groups), []string{cpu, memory}, idle}}
}

// idle reads what the nodes use while nobody asks anything.
func idle(ctx context.Context, c *cluster) ([]reading, error) {
	pause(ctx, idleSettle)
	before, err := c.usage()
	if err != nil {
		return nil, err
	}
	var w watch
	w.look()
	start := time.Now()
	pause(ctx, max(c.lab.duration, idleLeast))
	took := time.Since(start)
	w.look()
	after, err := c.usage()
	if err != nil {
		return nil, err
	}
	return []reading{
		{cpu, 100 * float64(after.cpu-before.cpu) / float64(took), w.last(took)},
		{memory, float64(after.rss) / 1e6, w.last(took)},
	}, ctx.Err()
}

// target is a ratio of medians that is to be reached; 0: it is only shown.
type target struct {
	name   string
	of, by key
	reach  float64
}

func targets() []target {
	write := func(clients int, system string) key {
		return key{rowWrites, fmt.Sprintf("%d clients", clients), system, opsPerS}
	}
	grouped := func(name string) key { return key{rowGroups, name + ", 256 clients", ringraft, opsPerS} }
	read := func(prefix string, pipeline int, system string) key {
		return key{rowReads, readCase(prefix, pipeline), system, opsPerS}
	}
	latest := func(system string) key { return key{rowLinearizable, "256 clients", system, opsPerS} }
	var list []target
	for _, t := range []struct {
		clients int
		reach   map[string]float64
	}{
		{64, map[string]float64{etcd: 6, nats: 3, redis: 1.5}},
		{256, map[string]float64{etcd: 10, nats: 4.5, redis: 2.5}},
		{1024, map[string]float64{etcd: 10, nats: 4.5, redis: 2.5}},
	} {
		for _, system := range []string{etcd, nats, redis} {
			list = append(list, target{
				fmt.Sprintf("writes, 1 group, %d clients, to %s", t.clients, system),
				write(t.clients, ringraft), write(t.clients, system), t.reach[system],
			})
		}
	}
	return append(list,
		target{"writes, 1,024 clients to 256", write(1024, ringraft), write(256, ringraft), 1.35},
		target{"writes, 4 groups, 256 clients, to etcd", grouped("4 groups"), write(256, etcd), 8},
		target{"writes, 16 groups led by one to 1 group", grouped("16 led by one"), write(256, ringraft), 0.7},
		target{"writes, 16 groups spread to 1 group", grouped("16 spread"), write(256, ringraft), 0.5},
		target{"local reads × 1, to redis", read("", 1, ringraft), read("", 1, redis), 1},
		target{"local reads × 16, to redis", read("", 16, ringraft), read("", 16, redis), 1.5},
		target{"reads through RESP × 1, to redis", read(byRESP, 1, ringraft), read("", 1, redis), 0.8},
		target{"reads through RESP × 16, to redis", read(byRESP, 16, ringraft), read("", 16, redis), 1},
		target{"an echo × 1, to redis", read("", 1, echo), read("", 1, redis), 0},
		target{"an echo × 16, to redis", read("", 16, echo), read("", 16, redis), 0},
		target{"local reads × 1, to an echo", read("", 1, ringraft), read("", 1, echo), 0},
		target{"local reads × 16, to an echo", read("", 16, ringraft), read("", 16, echo), 0},
		target{"linearizable reads, 256 clients, to etcd", latest(ringraft), latest(etcd), 5},
	)
}
