package raftfsm

import (
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestTimeToLiveIsKeptOrCleared: a change in place keeps it, a value that replaces
// another does not, and nothing of it is left after the record has gone.
func TestTimeToLiveIsKeptOrCleared(t *testing.T) {
	t.Parallel()
	key := []byte("k")
	again := set("k", "6")
	full := set("k", string(make([]byte, 2000)))
	for behaviour, tc := range map[string]struct {
		time  int64 // of the second entry; the first, at 1000, is set k 5 with a TTL of 100
		write []op.Write
		found bool
		value string
		ttl   int64 // at that time
	}{
		"a condition that holds clears it too": {1040, []op.Write{op.Set{Key: key, Value: []byte("6"), Cond: op.Cond{Kind: op.CondVersion, Version: 1}}}, true, "6", 0},
		"one that does not hold leaves it":     {1040, []op.Write{op.Set{Key: key, Value: []byte("6"), TTL: 7, Cond: op.Cond{Kind: op.CondAbsent}}}, true, "5", 60},
		"in a transaction a set clears it":     {1040, []op.Write{op.Txn{Then: []op.Op{again}}}, true, "6", 0},
		"and an increment keeps it":            {1040, []op.Write{op.Txn{Then: []op.Op{op.Add{Key: key, Delta: 3}}}}, true, "8", 60},
		"an increment keeps it":                {1040, []op.Write{op.Add{Key: key, Delta: 3}}, true, "8", 60},
		"a refused increment keeps it":         {1040, []op.Write{op.Add{Key: key, Delta: 1<<63 - 1}}, true, "5", 60},
		"a set clears it":                      {1040, []op.Write{again}, true, "6", 0},
		"a set of many clears it":              {1040, []op.Write{op.MSet{Pairs: []op.Pair{{Key: key, Value: []byte("6")}}}}, true, "6", 0},
		"a set that gives one replaces it":     {1040, []op.Write{op.Set{Key: key, Value: []byte("6"), TTL: 7}}, true, "6", 7},
		"a set that keeps it keeps it":         {1040, []op.Write{op.Set{Key: key, Value: []byte("6"), KeepTTL: true}}, true, "6", 60},
		"a set without room leaves it":         {1040, []op.Write{full}, true, "5", 60},
		"an expire replaces it":                {1040, []op.Write{op.Expire{Key: key, TTL: 9}}, true, "5", 9},
		"an expire of 0 clears it":             {1040, []op.Write{op.Expire{Key: key}}, true, "5", 0},
		"a delete takes it along":              {1040, []op.Write{op.Delete{Key: key}, op.Add{Key: key, Delta: 1}}, true, "1", 0},
		"an end takes it along":                {1100, []op.Write{op.Add{Key: key, Delta: 1}}, true, "1", 0},
		"after its end there is none left":     {1100, []op.Write{op.Set{Key: key, Value: []byte("6"), KeepTTL: true}}, true, "6", 0},
		"after its end it cannot be given":     {1100, []op.Write{op.Expire{Key: key, TTL: 9}}, false, "", 0},
		"after its end it cannot be kept":      {1100, []op.Write{op.Expire{Key: key}}, false, "", 0},
		"keeping none is for ever":             {1040, []op.Write{op.Delete{Key: key}, op.Set{Key: key, Value: []byte("6"), KeepTTL: true}}, true, "6", 0},
		"other keys leave it":                  {1040, []op.Write{set("other", "v"), op.Delete{Key: []byte("other")}}, true, "5", 60},
		"time that goes back leaves it":        {900, []op.Write{op.Add{Key: key, Delta: 1}}, true, "6", 100},
		"a last ms is one that lives":          {1099, []op.Write{op.Add{Key: key, Delta: 1}}, true, "6", 1},
		"an increment in place of nothing":     {1040, []op.Write{op.MDelete{Keys: [][]byte{key}}, op.Add{Key: key, Delta: -2}}, true, "-2", 0},
		"a century is not over after a day":    {1040, []op.Write{op.Expire{Key: key, TTL: 36500 * day}}, true, "5", 36500 * day},
		"the longest there can be":             {1040, []op.Write{op.Expire{Key: key, TTL: op.MaxTTL}}, true, "5", op.MaxTTL},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			f := limited(1000)
			do(t, f, 1000, op.Set{Key: key, Value: []byte("5"), TTL: 100})
			do(t, f, tc.time, tc.write...)
			for where, f := range map[string]*FSM{"": f, "after a restore: ": restored(t, persist(t, takeSnapshot(t, f)))} {
				res := get(f, "k", 0)
				if res.Found != tc.found || string(res.Value) != tc.value || res.TTL != tc.ttl {
					t.Errorf("%sfound %v, value %q, ttl %d; want %v, %q, %d", where, res.Found, res.Value, res.TTL, tc.found, tc.value, tc.ttl)
				}
			}
		})
	}
}

const day = int64(24 * time.Hour / time.Millisecond)
