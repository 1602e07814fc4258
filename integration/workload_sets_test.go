package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// sets are elements that several clients want to add. Each is added once: what was
// acknowledged stays, what was refused never appears.
type sets struct {
	faults
	writes
	mu       sync.Mutex
	next     int
	elements map[string]*element
}

// element is what became of the claims to one element.
type element struct {
	winner string
	claims map[string]bool // of unknown outcome
}

func newSets() *sets { return &sets{elements: map[string]*element{}} }

// rivals is how many clients want each element.
const rivals = 3

func (w *sets) step(a caller, who int, _ *rand.Rand) {
	w.mu.Lock()
	key := fmt.Sprintf("element-%d", w.next/rivals)
	w.next++
	e := w.elements[key]
	if e == nil {
		e = &element{claims: map[string]bool{}}
		w.elements[key] = e
	}
	w.mu.Unlock()
	claim := string(w.writes.next())
	res, out := a.do(op.Set{Key: []byte(key), Value: []byte(claim), Cond: op.Cond{Kind: op.CondAbsent}}, client.Local)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case out == unknown:
		e.claims[claim] = true
	case out == done && !res.Unmet:
		if e.winner != "" {
			w.report("%s was given to claim %s and to claim %s", key, e.winner, claim)
		}
		e.winner = claim
	}
}

func (w *sets) settle(a caller) {
	for key, e := range w.elements {
		res, ok := w.settledRead(a, op.Get{Key: []byte(key)})
		got := string(res.Value)
		switch {
		case !ok:
		case e.winner != "" && got != e.winner:
			w.report("%s is %q, acknowledged was %s", key, got, e.winner)
		case e.winner == "" && res.Found && !e.claims[got]:
			w.report("%s is %q, which was refused", key, got)
		}
	}
}

// lists are appended to by reading, and writing with the version read. The last state
// tells the order; each one read before is a beginning of it.
type lists struct {
	faults
	writes
	series[*list]
}

type list struct {
	key []byte

	mu       sync.Mutex
	acked    [][]byte
	refused  [][]byte
	observed [][]byte
}

func newLists() *lists {
	return &lists{series: series[*list]{width: 2, uses: 60, create: func(n int) *list {
		return &list{key: fmt.Appendf(nil, "list-%d", n)}
	}}}
}

func (w *lists) step(a caller, who int, random *rand.Rand) {
	l := w.pick(random)
	read, out := a.do(op.Get{Key: l.key}, client.Linearizable)
	if out != done {
		return
	}
	item := append(w.next(), ' ')
	cond := op.Cond{Kind: op.CondAbsent}
	if read.Found {
		cond = op.Cond{Kind: op.CondVersion, Version: read.Version}
	}
	res, out := a.do(op.Set{Key: l.key, Value: append(bytes.Clone(read.Value), item...), Cond: cond}, client.Local)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.observed = append(l.observed, bytes.Clone(read.Value))
	switch {
	case out == refused || out == done && res.Unmet:
		l.refused = append(l.refused, item)
	case out == done:
		l.acked = append(l.acked, item)
	}
}

func (w *lists) settle(a caller) {
	for _, l := range w.made() {
		last, ok := w.settledRead(a, op.Get{Key: l.key})
		if !ok {
			continue
		}
		items := map[string]int{}
		for _, item := range bytes.SplitAfter(last.Value, []byte(" ")) {
			items[string(item)]++
		}
		for _, item := range l.acked {
			if n := items[string(item)]; n != 1 {
				w.report("%s has the acknowledged %s %d times", l.key, item, n)
			}
		}
		for _, item := range l.refused {
			if items[string(item)] > 0 {
				w.report("%s has %s, which was refused", l.key, item)
			}
		}
		for _, before := range l.observed {
			if !bytes.HasPrefix(last.Value, before) {
				w.report("%s was %q, which %q does not begin with", l.key, before, last.Value)
			}
		}
	}
}

// transfers move money between accounts, in one transaction each. The sum stays. Where
// the tags of the accounts belong to several groups, so do the transactions.
type transfers struct {
	faults
	accounts [][]byte
	spanning bool
}

const (
	accountsPerTag = 4
	money          = 100 // of each account at first
)

func newTransfers(tags ...string) *transfers {
	w := &transfers{spanning: len(tags) > 1}
	for _, tag := range tags {
		for i := range accountsPerTag {
			w.accounts = append(w.accounts, fmt.Appendf(nil, "%saccount-%d", tag, i))
		}
	}
	return w
}

// open gives the accounts their money, once, whoever does it and how often.
func (w *transfers) open(a caller) {
	var o op.Txn
	for _, key := range w.accounts {
		o.Compares = append(o.Compares, op.Compare{Key: key, Cond: op.Cond{Kind: op.CondAbsent}})
		o.Then = append(o.Then, op.Set{Key: key, Value: fmt.Append(nil, money)})
	}
	a.do(o, client.Local)
}

// read returns the books as they were at one moment.
func (w *transfers) read(a caller, level client.Level) (op.Result, outcome) {
	if !w.spanning {
		return a.do(op.MGet{Keys: w.accounts}, level)
	}
	var o op.Txn
	for _, key := range w.accounts {
		o.Then = append(o.Then, op.Get{Key: key})
	}
	res, out := a.do(o, level)
	if out == done && len(res.Results) == 0 {
		return res, refused // it was done, and its results are lost
	}
	for i, r := range res.Results {
		res.Items = append(res.Items, op.Item{Key: w.accounts[i], Found: r.Found, Value: r.Value, Version: r.Version})
	}
	return res, out
}

func (w *transfers) step(a caller, who int, random *rand.Rand) {
	level := client.Linearizable
	if random.IntN(3) == 0 {
		level = client.Local // also an old state of one group is one at one moment
	}
	books, out := w.read(a, level)
	if out != done {
		return
	}
	if !books.Items[0].Found {
		w.open(a)
		return
	}
	w.audit(books)
	from, to := random.IntN(len(w.accounts)), random.IntN(len(w.accounts))
	if amount := 1 + random.Int64N(30); from != to {
		a.do(transfer(books.Items[from], books.Items[to], amount, random.IntN(2) == 0), client.Local)
	}
}

// transfer moves money, either as it was read or to and from whatever stands there.
func transfer(from, to op.Item, amount int64, asRead bool) op.Txn {
	if !asRead {
		least := int64(0)
		return op.Txn{Then: []op.Op{
			op.Add{Key: from.Key, Delta: -amount, Min: &least}, op.Add{Key: to.Key, Delta: amount},
		}}
	}
	version := func(it op.Item) op.Compare {
		return op.Compare{Key: it.Key, Cond: op.Cond{Kind: op.CondVersion, Version: it.Version}}
	}
	left := balance(from) - amount
	if left < 0 {
		left, amount = balance(from), 0
	}
	return op.Txn{Compares: []op.Compare{version(from), version(to)}, Then: []op.Op{
		op.Set{Key: from.Key, Value: strconv.AppendInt(nil, left, 10)},
		op.Set{Key: to.Key, Value: strconv.AppendInt(nil, balance(to)+amount, 10)},
	}}
}

func balance(it op.Item) int64 {
	n, err := strconv.ParseInt(string(it.Value), 10, 64)
	if err != nil {
		return -1 << 40 // no sum comes out right with it
	}
	return n
}

func (w *transfers) audit(books op.Result) {
	sum := int64(0)
	for _, it := range books.Items {
		n := balance(it)
		if n < 0 {
			w.report("%s stands at %q", it.Key, it.Value)
		}
		sum += n
	}
	if want := int64(money * len(w.accounts)); sum != want {
		w.report("the accounts add up to %d, want %d: %s", sum, want, describeResult(books))
	}
}

func (w *transfers) settle(a caller) {
	for end := time.Now().Add(patience); ; {
		books, out := w.read(a, client.Linearizable)
		switch {
		case out == done && books.Items[0].Found:
			w.audit(books)
			return
		case out == done:
			return // nobody came to open them
		case time.Now().After(end):
			w.report("the books cannot be read within %v in a cluster that is well", patience)
			return
		}
	}
}

// doctors are pairs of which one must be on call: each goes off duty only if the other
// is on, which it reads, and writes its own key alone. That is write skew, unless what
// was read is compared.
type doctors struct {
	faults
	pairs [][2][]byte
}

func newDoctors() *doctors {
	w := &doctors{}
	for i := range 3 {
		w.pairs = append(w.pairs, [2][]byte{fmt.Appendf(nil, "{pair-%d}a", i), fmt.Appendf(nil, "{pair-%d}b", i)})
	}
	return w
}

func (w *doctors) step(a caller, who int, random *rand.Rand) {
	pair := w.pairs[random.IntN(len(w.pairs))]
	duty, out := a.do(op.MGet{Keys: pair[:]}, client.Linearizable)
	if out != done {
		return
	}
	w.look(duty)
	mine := random.IntN(2)
	// Nothing stands for on call.
	if duty.Items[0].Found || duty.Items[1].Found {
		a.do(op.Delete{Key: pair[mine]}, client.Local)
		return
	}
	absent := op.Cond{Kind: op.CondAbsent}
	a.do(op.Txn{
		Compares: []op.Compare{{Key: pair[0], Cond: absent}, {Key: pair[1], Cond: absent}},
		Then:     []op.Op{op.Set{Key: pair[mine], Value: []byte("off")}},
	}, client.Local)
}

func (w *doctors) look(duty op.Result) {
	if duty.Items[0].Found && duty.Items[1].Found {
		w.report("nobody is on call: %s", describeResult(duty))
	}
}

func (w *doctors) settle(a caller) {
	for _, pair := range w.pairs {
		if duty, ok := w.settledRead(a, op.MGet{Keys: pair[:]}); ok {
			w.look(duty)
		}
	}
}
