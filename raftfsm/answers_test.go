package raftfsm

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// kept is an answer as a model keeps it.
type kept struct {
	sequence uint64
	encoded  []byte
}

func TestAnswersAreAsOfASortedList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var got answers
		var want []kept
		last := uint64(0)
		find := func(sequence uint64) (int, bool) {
			return slices.BinarySearchFunc(want, sequence, func(k kept, s uint64) int { return cmp.Compare(k.sequence, s) })
		}
		add := func(t *rapid.T, sequence uint64) {
			place, there := got.find(sequence)
			if at, found := find(sequence); place != at || there != found {
				t.Fatalf("the answer to %d: place %d, %v; want %d, %v", sequence, place, there, at, found)
			}
			if there {
				return
			}
			k := kept{sequence, rapid.SliceOfN(rapid.Byte(), 0, 2*shortAnswer).Draw(t, "encoding")}
			want = slices.Insert(want, place, k)
			got.insert(place, newAnswer(1, sequence, k.encoded))
		}
		t.Repeat(map[string]func(*rapid.T){
			"the next": func(t *rapid.T) {
				last++
				add(t, last)
			},
			"one left out": func(t *rapid.T) {
				last += 2
				add(t, last)
			},
			"any": func(t *rapid.T) { add(t, rapid.Uint64Range(0, last+1).Draw(t, "sequence")) },
			"drop": func(t *rapid.T) {
				n := rapid.IntRange(0, len(want)).Draw(t, "n")
				want = want[n:]
				got.drop(n)
			},
			"": func(t *rapid.T) {
				if got.len() != len(want) {
					t.Fatalf("%d answers, want %d", got.len(), len(want))
				}
				for i, a := range got.list() {
					if encoded := a.appendTo(nil); a.sequence != want[i].sequence || !bytes.Equal(encoded, want[i].encoded) || a.size() != len(encoded) {
						t.Fatalf("answer %d is %x to %d, want %+v", i, encoded, a.sequence, want[i])
					}
				}
				free := got.memory[len(got.memory):cap(got.memory)]
				for _, a := range slices.Concat(got.memory[:got.first], free) {
					if a != (answer{}) {
						t.Fatalf("a dropped answer is kept: %+v", a)
					}
				}
			},
		})
	})
}

func TestAQueueOfAnswersHoldsFewTimesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, underWay := range []int{1, 2, 3, 32, 1000} {
		var q answers
		for i := range uint64(10 * 1000) {
			q.insert(q.len(), newAnswer(1, i, nil))
			q.drop(max(q.len()-underWay, 0))
		}
		if cap(q.memory) > 4*(underWay+1) {
			t.Errorf("%d under way: room for %d", underWay, cap(q.memory))
		}
	}
}

// TestARepeatsAnswerIsItsOwn holds an answer with a value, short enough to lie among the
// others, while these move.
func TestARepeatsAnswerIsItsOwn(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	open(t, f, 0)
	show := func(value string) op.Set {
		s := set("k", value)
		s.Cond = op.Cond{Kind: op.CondAbsent, Show: true}
		return s
	}
	do(t, f, 0, set("k", "val"))
	for i := range uint64(50) { // there is memory for more than one answer then
		run(t, f, 0, op.Command{Session: 1, Sequence: 1 + i, Op: show("x")})
	}
	repeat := run(t, f, 0, op.Command{Session: 1, Sequence: 50, Op: show("x")})
	want := encoded(repeat)
	if string(repeat.Value) != "val" || len(want) > shortAnswer {
		t.Fatalf("the repeat's answer is %+v, of %d bytes", repeat, len(want))
	}
	run(t, f, 0, op.Command{Session: 1, Sequence: 51, Acknowledged: 51, Op: show("x")})
	if got := encoded(repeat); !bytes.Equal(got, want) {
		t.Errorf("the answer has become %x, it was %x", got, want)
	}
}
