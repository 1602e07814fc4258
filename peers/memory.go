package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const memoryCase = "records of 152 B"

// startNothing is for what is measured in a process of its own.
func startNothing(_ context.Context, l *lab) (*cluster, error) { return &cluster{lab: l}, nil }

// memoryOfRecords runs the product's own benchmark of its records.
func memoryOfRecords(ctx context.Context, c *cluster) ([]reading, error) {
	ctx, cancel := context.WithTimeout(ctx, loadSlack)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-C", filepath.Join(c.lab.module, ".."), "./lru", "-run", "^$",
		"-bench", "^BenchmarkFiveMillion$", "-benchtime", "1x", "-items", strconv.Itoa(c.lab.entries))
	var w watch
	w.look()
	start := time.Now()
	out, err := cmd.CombinedOutput()
	w.look()
	if err != nil {
		return nil, fmt.Errorf("the benchmark: %w: %s", err, out)
	}
	over, collection, err := parseMemory(string(out))
	if err != nil {
		return nil, err
	}
	b := w.last(time.Since(start))
	return []reading{{bytesOver, over, b}, {collectionCPU, collection, b}, {entries, float64(c.lab.entries), b}}, nil
}

// parseMemory finds both figures in what the benchmark printed.
func parseMemory(out string) (over, collection float64, err error) {
	words := strings.Fields(out)
	value := func(unit string) float64 {
		for i, word := range words {
			if word == unit && i > 0 && err == nil {
				var x float64
				x, err = strconv.ParseFloat(words[i-1], 64)
				return x
			}
		}
		if err == nil {
			err = skipped{"the benchmark, which needs Linux, did not print " + unit}
		}
		return 0
	}
	over, collection = value("B-over/item"), value("ms-of-CPU/collection")
	return over, collection, err
}
