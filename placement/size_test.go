package placement_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/placement"
	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	tests := map[string]int64{
		"0": 0, "1": 1, "1000": 1000, "007": 7, "12B": 12, "12b": 12,
		"64k": 64 << 10, "64K": 64 << 10, "64Ki": 64 << 10, "64KiB": 64 << 10, "64kib": 64 << 10,
		"256MiB": 256 << 20, "1GiB": 1 << 30, "3t": 3 << 40, "1P": 1 << 50,
		"9223372036854775807": math.MaxInt64, "8191P": 8191 << 50,
	}
	for s, want := range tests {
		if got, err := placement.ParseSize(s); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
}

func TestParseSizeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"": "no size", "k": "no size", "GiB": "no size", "-1": "no size", "+1": "no size", "1.5GiB": "no size",
		"1 GiB": "no size", " 1": "no size", "1e6": "no size", "0x10": "no size", "1_000": "no size", "١": "no size",
		"1MB": "no size", "1kB": "no size", "1E": "no size", "1ib": "no size", "1KiBs": "no size", "1Kii": "no size", "1BB": "no size",
		"9223372036854775808": "over the limit", "18446744073709551616": "over the limit", "8192P": "over the limit", "99999999999999999999k": "over the limit",
		"99999999999999999999MB": "no size",
	}
	for s, want := range tests {
		if got, err := placement.ParseSize(s); err == nil || got != 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSize(%q) = %d, %v; want an error that says %q", s, got, err, want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	t.Parallel()
	tests := map[int64]string{
		0: "0", 1: "1", 1000: "1000", 1023: "1023", 1024: "1KiB", 1025: "1025", 1536: "1536", 3 << 29: "1536MiB",
		256 << 20: "256MiB", 1 << 30: "1GiB", 1 << 50: "1PiB", 1 << 60: "1024PiB", math.MaxInt64: "9223372036854775807",
	}
	for n, want := range tests {
		if got := placement.FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFormattedSizesAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n") >> rapid.IntRange(0, 62).Draw(t, "less")
		n <<= rapid.IntRange(0, 10).Draw(t, "zeros")
		if n < 0 {
			t.Skip("shifted out")
		}
		if got, err := placement.ParseSize(placement.FormatSize(n)); err != nil || got != n {
			t.Fatalf("%d is formatted as %q, read as %d, %v", n, placement.FormatSize(n), got, err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"", "0", "64k", "256MiB", "1gib", "8191P", "8192P", "1MB", "-1", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := placement.ParseSize(s)
		if err != nil {
			if n != 0 || len(err.Error()) > 400 {
				t.Fatalf("ParseSize(%q) = %d, %v; want 0 and a short error", s, n, err)
			}
			return
		}
		if n < 0 {
			t.Fatalf("ParseSize(%q) = %d", s, n)
		}
		if again, err := placement.ParseSize(placement.FormatSize(n)); err != nil || again != n {
			t.Fatalf("%q is %d, formatted %q, read back as %d, %v", s, n, placement.FormatSize(n), again, err)
		}
	})
}
