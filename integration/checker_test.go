package integration

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringraft/ringraft/op"
)

// past is the operations of a history, one after the other unless moved.
type past []porcupine.Operation

func (p past) then(o op.Op, res op.Result) past {
	at := int64(2 * len(p))
	return append(p, porcupine.Operation{Input: o, Output: &told{Result: res}, Call: at, Return: at + 1})
}

// doubtful adds an operation of unknown outcome.
func (p past) doubtful(o op.Op) past {
	return append(p, porcupine.Operation{Input: o, Output: answer(nil), Call: int64(2 * len(p)), Return: math.MaxInt64})
}

// TestCheckerTellsRightHistoriesFromWrongOnes: those that no order explains are found,
// and no others.
func TestCheckerTellsRightHistoriesFromWrongOnes(t *testing.T) {
	t.Parallel()
	k := []byte("k")
	set := func(value string) op.Set { return op.Set{Key: k, Value: []byte(value)} }
	ifVersion := func(value string, version uint64) op.Set {
		return op.Set{Key: k, Value: []byte(value), Cond: op.Cond{Kind: op.CondVersion, Version: version}}
	}
	get, one := op.Get{Key: k}, op.Add{Key: k, Delta: 1}
	is := func(value string, version uint64) op.Result {
		return op.Result{Found: true, Value: []byte(value), Version: version}
	}
	added := func(sum int64, version uint64) op.Result {
		return op.Result{Found: sum > 1, Number: sum, Version: version}
	}
	written := func(version uint64) op.Result { return op.Result{Found: version > 1, Version: version} }
	first := past{}.then(set("a"), written(1))
	for behaviour, h := range map[string]struct {
		past  past
		wrong bool
	}{
		"what was written is read":                       {first.then(get, is("a", 1)), false},
		"an acknowledged write is lost":                  {first.then(get, op.Result{}), true},
		"an old value is read":                           {first.then(set("b"), written(2)).then(get, is("a", 1)), true},
		"what was refused is there":                      {first.then(get, is("b", 2)), true},
		"what is unknown may have happened":              {first.doubtful(set("b")).then(get, is("b", 2)), false},
		"or never":                                       {first.doubtful(set("b")).then(get, is("a", 1)), false},
		"or later":                                       {first.doubtful(set("b")).then(get, is("a", 1)).then(get, is("b", 2)), false},
		"but not twice":                                  {first.doubtful(set("b")).then(get, is("b", 2)).then(set("c"), written(3)).then(get, is("b", 4)), true},
		"a condition holds":                              {first.then(ifVersion("b", 1), written(2)), false},
		"a condition that does not hold is passed over":  {first.then(set("b"), written(2)).then(ifVersion("c", 1), written(3)), true},
		"a condition that holds is unmet":                {first.then(ifVersion("b", 1), op.Result{Unmet: true, Found: true, Version: 1}), true},
		"a version is used again after a delete":         {first.then(op.Delete{Key: k}, op.Result{Found: true, Version: 2}).then(set("b"), op.Result{Version: 2}), true},
		"an addition counts":                             {past{}.then(one, added(1, 1)).then(one, added(2, 2)), false},
		"an addition counts twice":                       {past{}.then(one, added(1, 1)).then(get, is("2", 2)), true},
		"an addition is lost":                            {past{}.then(one, added(1, 1)).then(one, added(1, 2)), true},
		"an addition past its bound is called a success": {past{}.then(op.Add{Key: k, Delta: 2, Max: new(int64)}, added(0, 1)), true},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			checked := &history{name: "checked", past: h.past}
			seen, err := checked.valuesOf()
			if err == nil {
				err = checked.search(cellModel(seen), checkTimeout)
			}
			if (err != nil) != h.wrong {
				t.Errorf("got %v, want it found to be wrong: %v", err, h.wrong)
			}
		})
	}
}

// TestCheckerSeesHalvesOfTransactions: a read of both keys shows one of the two writes.
func TestCheckerSeesHalvesOfTransactions(t *testing.T) {
	t.Parallel()
	keys := [tableKeys]string{"a", "b", "c"}
	both := op.Txn{Then: []op.Op{op.Set{Key: []byte("a"), Value: []byte("1")}, op.Set{Key: []byte("b"), Value: []byte("2")}}}
	read := op.MGet{Keys: [][]byte{[]byte("a"), []byte("b")}}
	a := op.Item{Key: []byte("a"), Found: true, Value: []byte("1"), Version: 1}
	b := op.Item{Key: []byte("b"), Found: true, Value: []byte("2"), Version: 2}
	for _, shown := range []struct {
		b     op.Item
		wrong bool
	}{{b, false}, {op.Item{Key: b.Key}, true}} {
		h := &history{name: "checked", past: past{}.
			then(both, op.Result{Results: []op.Result{{Version: 1}, {Version: 2}}}).
			then(read, op.Result{Items: []op.Item{a, shown.b}})}
		if err := h.search(tableModel(keys, false, nil), checkTimeout); (err != nil) != shown.wrong {
			t.Errorf("%+v: got %v, want it found to be wrong: %v", shown.b, err, shown.wrong)
		}
	}
}

// TestCheckerWithoutAVerdictFails: many writes may or may not have happened, in any
// order, and none explains what is read.
func TestCheckerWithoutAVerdictFails(t *testing.T) {
	t.Parallel()
	var p past
	for i := range 40 {
		p = p.doubtful(op.Set{Key: []byte("k"), Value: fmt.Append(nil, i)})
	}
	p = p.then(op.Get{Key: []byte("k")}, op.Result{Found: true, Value: []byte("never written"), Version: 1})
	err := (&history{name: "checked", past: p}).search(cellModel(nil), 20*time.Millisecond)
	if !errors.Is(err, errNoVerdict) {
		t.Errorf("got %v, want that there is no verdict", err)
	}
}
