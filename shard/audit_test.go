package shard

import "testing"

func TestOutvoted(t *testing.T) {
	t.Parallel()
	const a, b, c = 1, 2, 3
	for name, tc := range map[string]struct {
		mine   uint64
		leader bool
		others []ballot
		want   bool
	}{
		"all agree":                         {a, false, []ballot{{a, true}, {a, false}}, false},
		"follower against two":              {a, false, []ballot{{b, true}, {b, false}}, true},
		"leader against two followers":      {a, true, []ballot{{b, false}, {b, false}}, true},
		"one of two that agree":             {a, false, []ballot{{a, false}, {b, true}}, false},
		"follower alone with the leader":    {a, false, []ballot{{b, true}}, true},
		"leader alone with one follower":    {a, true, []ballot{{b, false}}, false},
		"follower alone with a follower":    {a, false, []ballot{{b, false}}, false},
		"three that differ, not the leader": {a, false, []ballot{{b, true}, {c, false}}, true},
		"three that differ, the leader":     {a, true, []ballot{{b, false}, {c, false}}, false},
		"nobody else is known":              {a, false, nil, false},
		"two against two, with the leader":  {a, false, []ballot{{a, true}, {b, false}, {b, false}}, false},
	} {
		if got := outvoted(tc.mine, tc.leader, tc.others); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
