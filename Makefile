# Needs Go, git and make. Tools are pinned here and fetched by Go.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BENCHSTAT = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
FUZZTIME ?= 10s

.PHONY: run build test check check-peers check-redisclients fuzz mutants soak bench bench-build bench-micro bench-peers plots clean

# run starts a three-node cluster on this machine; its data stays in ./.ringraft.
run: build
	@exec bin/ringraft dev

build:
	go build -trimpath -o bin/ringraft ./cmd/ringraft

# test runs all tests; RACE=1 runs them under the race detector.
test:
	go test $(if $(RACE),-race -timeout 20m) ./...

# check is what every commit must pass: format, vet, staticcheck, the import diagram.
check:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted: $$files"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go test .

# fuzz runs every fuzz target for FUZZTIME.
fuzz:
	@set -e; grep -r '^func Fuzz' --include='*_test.go' . | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|' | sort | \
	while read -r pkg target; do \
		echo "$$pkg $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg </dev/null; \
	done

# mutants plants faults, one after the other, and looks whether the tests find them;
# FAULTS="skipround localclock" plants only these.
mutants:
	go run ./integration/mutants $(FAULTS)

# soak runs the workloads under faults for SOAK, in fake time and on processes, and
# leaves what was done and found in soak-out/report.txt, and what nodes logged in
# soak-out/log. A failure says with which seed it was. LOG=wal or LOG=bolt gives the
# nodes that log on disk.
SOAK ?= 10m
soak:
	@mkdir -p soak-out
	go test ./integration -count=1 -v -timeout 0 -run 'OrderHolds' -soak $(SOAK) $(if $(LOG),-log $(LOG)) >soak-out/log 2>&1; status=$$?; \
	{ echo "soak of $(SOAK) for each part, $$(date -u +%FT%TZ), commit $$(git describe --always --dirty)"; \
	grep -vE ' level=|^ *=== |--- PASS: .*/|{seed:' soak-out/log; } | \
	tee soak-out/report.txt; exit $$status

# bench measures clusters of its own, of three nodes on this machine: writes, reads, the
# gap after a node's death, idleness. ROWS="writes,kill" measures only these rows; the
# figures are medians of RUNS runs, with TIME for each load, and go to OUT as JSON. STEADY
# is for how long elections under full load are counted, ENTRIES the records of the
# cluster of which snapshots are taken, and in the memory that is measured.
RUNS ?= 3
TIME ?= 3s
STEADY ?= 10s
ENTRIES ?= 500000
PEER_ROWS = writes,groups,reads,linearizable
MEASURE = exec bin/peers -runs $(RUNS) -time $(TIME) -steady $(STEADY) -entries $(ENTRIES)
bench: build bench-build
	@$(MEASURE) -systems ringraft,echo,bare -rows "$(ROWS)" -out "$(or $(OUT),bench-out/bench.json)"

# bench-micro runs the micro-benchmarks of codec, memory, state machine and batcher, COUNT
# times, and compares them with docs/baselines. Those are of one machine: to compare two
# commits on another, make the baselines there at the first, by BASELINE=1. PACKAGES="op lru"
# runs only these, BENCH=Apply only what matches. Benchmarks of seconds are left out.
PACKAGES ?= op lru raftfsm shard
BENCH ?= .
COUNT ?= 10
SLOW_BENCH = FiveMillion|BesideSnapshot
bench-micro:
	@mkdir -p bench-out docs/baselines
	@set -e; for pkg in $(PACKAGES); do \
		out=$(if $(BASELINE),docs/baselines,bench-out)/$$pkg.txt; \
		go test -run '^$$' -bench '$(BENCH)' -skip '$(SLOW_BENCH)' -benchtime 100ms -count $(COUNT) ./$$pkg >$$out; \
		$(if $(BASELINE),echo "$$out",go run $(BENCHSTAT) docs/baselines/$$pkg.txt $$out); \
	done

# bench-peers does the same with etcd, NATS and Redis beside it. It builds the first two
# from the module peers, and installs Redis from Debian's packages where it is missing.
# SYSTEMS="ringraft,etcd" measures only these.
bench-peers: build bench-build
	@$(MEASURE) -systems "$(SYSTEMS)" -rows "$(if $(ROWS),$(ROWS),$(PEER_ROWS))" -out "$(or $(OUT),bench-out/peers.json)"

# plots draws the figures in OUT.
plots: bench-build
	@bin/peers -plot "$(or $(OUT),bench-out/peers.json)" -plots docs/plots

bench-build:
	@go -C peers build -o ../bin/peers .

# check-peers is check and test of the module peers, whose dependencies are many.
check-peers:
	go -C peers vet ./...
	cd peers && go run $(STATICCHECK) ./...
	go -C peers test $(if $(RACE),-race) ./...

# check-redisclients is check and test of the module that uses clusters through Redis
# clients that others wrote. Their results are never cached: Go does not see that they
# depend on the program.
check-redisclients:
	go -C integration/redisclients vet ./...
	cd integration/redisclients && go run $(STATICCHECK) ./...
	go -C integration/redisclients test -count=1 $(if $(RACE),-race) ./...

clean:
	rm -rf bin bench-out soak-out
	go clean -testcache
