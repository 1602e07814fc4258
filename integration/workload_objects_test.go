package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// registers are keys that are read, written, compared and set, and deleted: what
// porcupine knows as linearizable.
type registers struct {
	faults
	writes
	series[*register]
}

type register struct {
	history
	key  []byte
	last lastSeen
}

func newRegisters() *registers {
	return &registers{series: series[*register]{width: 3, uses: 40, create: func(n int) *register {
		name := fmt.Sprintf("register-%d", n)
		return &register{history: history{name: name}, key: []byte(name)}
	}}}
}

func (w *registers) step(a caller, who int, random *rand.Rand) {
	r := w.pick(random)
	version, value := r.last.get()
	var cond op.Cond
	switch random.IntN(8) {
	case 0:
		cond = op.Cond{Kind: op.CondAbsent}
	case 1:
		cond = op.Cond{Kind: op.CondPresent}
	case 2, 3:
		if version != 0 {
			cond = op.Cond{Kind: op.CondVersion, Version: version}
		}
	case 4:
		if version != 0 {
			cond = op.Cond{Kind: op.CondValue, Value: value}
		}
	}
	cond.Show = cond.Kind != op.CondNone && random.IntN(2) == 0
	var o op.Op = op.Get{Key: r.key}
	switch random.IntN(10) {
	case 0, 1, 2, 3, 4:
		o = op.Set{Key: r.key, Value: w.next(), Cond: cond}
	case 5:
		o = op.Delete{Key: r.key, Cond: cond}
	}
	r.last.note(r.do(a, who, o))
}

func (w *registers) settle(a caller) {
	for _, r := range w.made() {
		w.settleHistory(a, &r.history, op.Get{Key: r.key})
	}
}

func (w *registers) verdict() error {
	var err error
	for _, r := range w.made() {
		err = errors.Join(err, r.checkCell())
	}
	return errors.Join(err, w.faults.verdict())
}

// settleHistory reads until the read is answered.
func (f *faults) settleHistory(a caller, h *history, o op.Op) {
	if _, ok := f.settledRead(recorded{a, h}, o); !ok {
		f.report("%s has no last word", h.name)
	}
}

// checkCell checks the history of one key.
func (h *history) checkCell() error {
	seen, err := h.valuesOf()
	if err != nil {
		return err
	}
	return h.check(cellModel(seen))
}

// counters are numbers that are added to, within bounds: a repeat that counts twice,
// or an addition that is lost, shows.
type counters struct {
	faults
	series[*register]
}

func newCounters() *counters {
	return &counters{series: series[*register]{width: 3, uses: 30, create: func(n int) *register {
		name := fmt.Sprintf("counter-%d", n)
		return &register{history: history{name: name}, key: []byte(name)}
	}}}
}

func (w *counters) step(a caller, who int, random *rand.Rand) {
	r := w.pick(random)
	var o op.Op
	switch random.IntN(8) {
	case 0:
		o = op.Get{Key: r.key}
	case 1:
		o = op.Delete{Key: r.key}
	default:
		o = boundedAdd(r.key, random)
	}
	r.do(a, who, o)
}

// boundedAdd takes or adds a few, between 0 and 20 at times.
func boundedAdd(key []byte, random *rand.Rand) op.Add {
	o := op.Add{Key: key, Delta: random.Int64N(15) - 5}
	if random.IntN(2) == 0 {
		least := int64(0)
		o.Min = &least
	}
	if random.IntN(2) == 0 {
		most := int64(20)
		o.Max = &most
	}
	o.Clamp = (o.Min != nil || o.Max != nil) && random.IntN(3) == 0
	return o
}

func (w *counters) settle(a caller) {
	for _, r := range w.made() {
		w.settleHistory(a, &r.history, op.Get{Key: r.key})
	}
}

func (w *counters) verdict() error {
	var err error
	for _, r := range w.made() {
		err = errors.Join(err, r.check(cellModel(nil)))
	}
	return errors.Join(err, w.faults.verdict())
}

// transactions read and write a few keys together, of one slot or of several.
type transactions struct {
	faults
	writes
	series[*tableau]
}

type tableau struct {
	history
	spanning bool // the keys are in several slots
	keys     [tableKeys]string
	last     [tableKeys]lastSeen
}

// newTransactions names keys by a format for the object's name and the key's letter.
func newTransactions(format string) *transactions {
	spanning := !strings.Contains(format, "{")
	width := 2
	if spanning {
		width = 1 // so that reads come in between
	}
	return &transactions{series: series[*tableau]{width: width, uses: 40, create: func(n int) *tableau {
		t := &tableau{history: history{name: fmt.Sprintf("table-%d", n)}, spanning: spanning}
		for i := range t.keys {
			t.keys[i] = fmt.Sprintf(format, t.name, 'a'+i)
		}
		return t
	}}}
}

func (w *transactions) step(a caller, who int, random *rand.Rand) {
	t := w.pick(random)
	for _, o := range w.next(t, random) {
		res, out := t.do(a, who, o)
		t.look(o, res, out)
	}
}

// next returns what to do next: mostly one thing.
func (w *transactions) next(t *tableau, random *rand.Rand) []op.Op {
	switch kind := random.IntN(8); {
	case kind == 0:
		return []op.Op{t.readAll()}
	case kind < 3 && t.spanning: // a transaction shows at all keys, or at none
		var reads []op.Op
		for _, i := range random.Perm(tableKeys) {
			reads = append(reads, op.Get{Key: t.key(i)})
		}
		return reads
	case kind < 5 && t.spanning:
		i := random.IntN(tableKeys)
		return []op.Op{op.Set{Key: t.key(i), Value: w.writes.next(), Cond: t.unchanged(i, random)}}
	case kind == 1:
		return []op.Op{op.MSet{Pairs: []op.Pair{{Key: t.key(0), Value: w.writes.next()}, {Key: t.key(1), Value: w.writes.next()}}}}
	case kind == 2:
		return []op.Op{op.MDelete{Keys: [][]byte{t.key(1), t.key(2)}}}
	}
	return []op.Op{w.txn(t, random)}
}

// look remembers what reads have shown.
func (t *tableau) look(o op.Op, res op.Result, out outcome) {
	switch o := o.(type) {
	case op.Get:
		t.note(o, res, out)
	case op.Txn:
		for i, r := range res.Results {
			t.note(branchOf(o, res.Unmet)[i], r, out)
		}
	case op.MGet:
		for i, it := range res.Items {
			t.last[i].note(op.Result{Found: it.Found, Version: it.Version, Value: it.Value}, out)
		}
	}
}

// note remembers what a read in a transaction showed.
func (t *tableau) note(o op.Op, res op.Result, out outcome) {
	if get, ok := o.(op.Get); ok {
		t.last[slices.Index(t.keys[:], string(get.Key))].note(res, out)
	}
}

// txn compares some keys, and writes, deletes or reads some others.
func (w *transactions) txn(t *tableau, random *rand.Rand) op.Txn {
	var o op.Txn
	for i := range t.keys {
		if random.IntN(2) == 0 {
			continue
		}
		o.Compares = append(o.Compares, op.Compare{Key: t.key(i), Cond: t.unchanged(i, random)})
	}
	for i := range t.keys {
		switch random.IntN(4) {
		case 0:
			o.Then = append(o.Then, op.Delete{Key: t.key(i)})
		case 1:
			o.Then = append(o.Then, op.Get{Key: t.key(i)})
		default:
			o.Then = append(o.Then, op.Set{Key: t.key(i), Value: w.writes.next()})
		}
	}
	if !t.spanning && random.IntN(2) == 0 {
		o.Else = []op.Op{op.Get{Key: t.key(0)}, op.Set{Key: t.key(2), Value: w.writes.next()}}
	}
	return o
}

// unchanged is a condition on what stood at a key lately, or now and then on nothing.
func (t *tableau) unchanged(i int, random *rand.Rand) op.Cond {
	if version, _ := t.last[i].get(); version != 0 && random.IntN(4) > 0 {
		return op.Cond{Kind: op.CondVersion, Version: version, Show: true}
	}
	return op.Cond{Kind: op.CondAbsent, Show: true}
}

func (t *tableau) key(i int) []byte { return []byte(t.keys[i]) }

// readAll is a read of all keys at one moment.
func (t *tableau) readAll() op.Op {
	var all op.MGet
	var each op.Txn
	for i := range t.keys {
		all.Keys, each.Then = append(all.Keys, t.key(i)), append(each.Then, op.Get{Key: t.key(i)})
	}
	if t.spanning {
		return each
	}
	return all
}

func (w *transactions) settle(a caller) {
	for _, t := range w.made() {
		for i := range t.keys {
			w.settleHistory(a, &t.history, op.Get{Key: t.key(i)})
		}
	}
}

func (w *transactions) verdict() error {
	var err error
	for _, t := range w.made() {
		seen, wrong := t.valuesOf()
		if wrong == nil {
			wrong = t.check(tableModel(t.keys, t.spanning, seen))
		}
		err = errors.Join(err, wrong)
	}
	return errors.Join(err, w.faults.verdict())
}
