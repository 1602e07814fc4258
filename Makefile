# Needs Go, git and make. Tools are pinned here and fetched by Go.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 10s
BENCH ?= --op set --clients 256 --duration 10s

.PHONY: run build test check fuzz mutants soak bench clean

# run starts a three-node cluster on this machine; its data stays in ./.ringraft.
run: build
	@exec bin/ringraft dev

build:
	go build -trimpath -o bin/ringraft ./cmd/ringraft

# test runs all tests; RACE=1 runs them under the race detector.
test:
	go test $(if $(RACE),-race) ./...

# check is what every commit must pass: format, vet, staticcheck, the import diagram.
check:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted: $$files"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go test .

# fuzz runs every fuzz target for FUZZTIME.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# mutants plants faults, one after the other, and looks whether the tests find them;
# FAULTS="skipround localclock" plants only these.
mutants:
	go run ./integration/mutants $(FAULTS)

# soak runs the workloads under faults for SOAK, in fake time and on processes, and
# leaves what was done and found in soak-out/report.txt, and what nodes logged in
# soak-out/log. A failure says with which seed it was.
SOAK ?= 10m
soak:
	@mkdir -p soak-out
	go test ./integration -count=1 -v -timeout 0 -run 'OrderHolds' -soak $(SOAK) >soak-out/log 2>&1; status=$$?; \
	{ echo "soak of $(SOAK) for each part, $$(date -u +%FT%TZ), commit $$(git describe --always --dirty)"; \
	grep -vE ' level=|^ *=== |--- PASS: .*/|{seed:' soak-out/log; } | \
	tee soak-out/report.txt; exit $$status

# bench measures a cluster of its own: how fast durable writes are, then the longest
# gap in their acknowledgements when a node, which leads, is killed in the middle.
bench: export RINGRAFT_ENDPOINTS = 127.0.0.1:7701,127.0.0.1:7702,127.0.0.1:7703
bench: build
	@rm -rf bench-out; mkdir bench-out; \
	bin/ringraft dev --base-port 7700 --data bench-out/data >bench-out/log & dev=$$!; \
	trap 'kill $$dev; wait $$dev' EXIT; \
	until grep -q '^ready' bench-out/log; do kill -0 $$dev || exit 1; sleep 0.2; done; \
	echo 'set, 256 clients:' && bin/ringraft bench $(BENCH) && \
	echo 'the same, n1 killed after 5 s:' && \
	{ (sleep 5; kill -9 $$(awk '$$1 == "n1" {print $$3; exit}' bench-out/log)) & bin/ringraft bench $(BENCH) --warmup 0s; }

clean:
	rm -rf bin bench-out soak-out
	go clean -testcache
