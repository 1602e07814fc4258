package placement_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/placement"
)

func TestSet(t *testing.T) {
	t.Parallel()
	old := placement.Settings{MaxBytes: 2 << 20, MaxValueBytes: 77}
	tests := []struct {
		name, value string
		want        placement.Settings
	}{
		{"max-bytes", "1GiB", placement.Settings{MaxBytes: 1 << 30, MaxValueBytes: 77}},
		{"max-bytes", "1048576", placement.Settings{MaxBytes: 1 << 20, MaxValueBytes: 77}},
		{"max-bytes", "1P", placement.Settings{MaxBytes: 1 << 50, MaxValueBytes: 77}},
		{"max-value-bytes", "1", placement.Settings{MaxBytes: 2 << 20, MaxValueBytes: 1}},
		{"max-value-bytes", "16m", placement.Settings{MaxBytes: 2 << 20, MaxValueBytes: 16 << 20}},
	}
	for _, tt := range tests {
		if got, err := old.Set(tt.name, tt.value); err != nil || got != tt.want {
			t.Errorf("Set(%s, %s) = %+v, %v; want %+v", tt.name, tt.value, got, err, tt.want)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	old := placement.Settings{MaxBytes: 2 << 20, MaxValueBytes: 77}
	tests := []struct{ name, value, field, bound string }{
		{"max-bytes", "1048575", "max-bytes", "between 1MiB and 1PiB"},
		{"max-bytes", "1125899906842625", "max-bytes", "between 1MiB and 1PiB"},
		{"max-bytes", "plenty", "max-bytes", "no size"},
		{"max-value-bytes", "0", "max-value-bytes", "between 1 and 16MiB"},
		{"max-value-bytes", "16777217", "max-value-bytes", "between 1 and 16MiB"},
		{"max_bytes", "1GiB", "setting", "max-bytes, max-value-bytes"},
		{"", "1GiB", "setting", "max-bytes, max-value-bytes"},
	}
	for _, tt := range tests {
		got, err := old.Set(tt.name, tt.value)
		wantRefusal(t, err, tt.field, tt.bound)
		if got != old {
			t.Errorf("Set(%s, %s) = %+v with an error, want %+v", tt.name, tt.value, got, old)
		}
	}
}

func TestListTellsAllThatSetNeeds(t *testing.T) {
	t.Parallel()
	s := placement.Settings{MaxBytes: 3 << 29, MaxValueBytes: 1000}
	var names []string
	var again placement.Settings
	for _, l := range s.List() {
		names = append(names, l.Name)
		if !strings.Contains(l.Help, "between") || !strings.Contains(l.Help, "default") {
			t.Errorf("%s: help %q does not tell bounds and default", l.Name, l.Help)
		}
		var err error
		if again, err = again.Set(l.Name, l.Value); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"max-bytes", "max-value-bytes"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	if again != s {
		t.Errorf("set from the list: %+v, want %+v", again, s)
	}
}
