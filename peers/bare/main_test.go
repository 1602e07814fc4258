package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestMain makes this binary one of the three processes where it is started as such.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--node") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEntriesAreStored(t *testing.T) {
	t.Parallel()
	for _, leaders := range []string{"1", "3"} {
		t.Run(leaders, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var out bytes.Buffer
			args := []string{"--duration", "200ms", "--warmup", "10ms", "--leaders", leaders, "--bytes", "1000", "--dir", dir}
			if err := run(args, nil, &out); err != nil {
				t.Fatal(err)
			}
			var told struct {
				OpsPerS float64 `json:"ops_per_s"`
				OK      int64   `json:"ok"`
				Seconds float64 `json:"seconds"`
			}
			if err := json.Unmarshal(out.Bytes(), &told); err != nil || told.OK == 0 || told.OpsPerS < float64(told.OK)/told.Seconds || told.Seconds < 0.2 {
				t.Errorf("%q was printed: %v", out.Bytes(), err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v is left: %v", left, err)
			}
		})
	}
}

// TestADiskStoresInOrder gives a disk entries while it is busy: each is told once, in order.
func TestADiskStoresInOrder(t *testing.T) {
	t.Parallel()
	d, err := newDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.file.Close()
	var told []int
	d.store([]byte("first"), func() {
		told = append(told, 0)
		for i := range 3 {
			d.store([]byte{byte(i)}, func() { told = append(told, i+1) })
		}
	})
	b := make([]byte, 8)
	if _, err := d.file.ReadAt(b, 0); err != nil || string(b) != "first\x00\x01\x02" || !slices.Equal(told, []int{0, 1, 2, 3}) {
		t.Errorf("%q is stored, %v told: %v", b, told, err)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"x"}, {"--leaders", "4"}, {"--leaders", "0"}, {"--bytes", "0"}, {"--bytes", "99999999"}, {"--duration", "0s"}, {"--warmup", "-1s"}, {"--nodes", "3"}} {
		if err := run(args, nil, nil); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
