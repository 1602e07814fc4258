package op

import "fmt"

// Compare is one condition of a transaction on one key.
type Compare struct {
	Key  []byte
	Cond Cond
}

// Txn is a transaction on keys of one group, applied in one entry: if all of Compares
// hold, the operations of Then, else those of Else; all of them or none. Since the
// reads on which the caller decided can be put among the compares, by version,
// transactions are serializable. Result: Unmet reports that a compare did not hold;
// Results are those of the operations run, in order; with Unmet and an empty Else,
// Items tells of the keys compared, with their values where the compare says Show.
//
// With an ID, its keys may belong to several groups, and any node takes it: see
// [Attempt]. Then there is no Else, and Unmet's Items are those of the group that the
// compare belongs to.
type Txn struct {
	Compares []Compare
	Then     []Op
	Else     []Op
	ID       []byte // TxnIDSize random bytes, or none; each is used once
}

// MaxTxnOps bounds the compares and operations of a transaction, each list.
const MaxTxnOps = 256

// inTxn names the operations that can be part of a transaction.
func inTxn(c Code) bool {
	switch c {
	case CodeGet, CodeStat, CodeSet, CodeDelete, CodeExpire, CodeAdd:
		return true
	}
	return false
}

func (Txn) Code() Code { return CodeTxn }

// NumSlots counts the keys of compares and operations.
func (o Txn) NumSlots() int { return len(o.Compares) + len(o.Then) + len(o.Else) }

// Slot returns the slot of the i-th key.
func (o Txn) Slot(i int) uint16 {
	if i < len(o.Compares) {
		return SlotOf(o.Compares[i].Key)
	}
	if i -= len(o.Compares); i < len(o.Then) {
		return o.Then[i].(Routed).Slot(0)
	}
	return o.Else[i-len(o.Then)].(Routed).Slot(0)
}

// Spans reports whether the transaction may span groups.
func (o Txn) Spans() bool { return len(o.ID) > 0 }

// Home returns the slot whose group decides a transaction with an ID: the least.
func (o Txn) Home() uint16 {
	home := o.Slot(0)
	for i := range o.NumSlots() {
		home = min(home, o.Slot(i))
	}
	return home
}

// Check refuses transactions over the limits, without any key, with operations that
// cannot be part of one, with a key compared twice, or written twice in one branch.
// An error of a part names that and its field, as then[2].ttl.
func (o Txn) Check(l Limits) *Error {
	if o.NumSlots() == 0 {
		return Invalid("txn", "has neither compares nor operations")
	}
	if o.Spans() {
		if err := checkTxnID(o.ID); err != nil {
			return err
		}
		if len(o.Else) > 0 {
			return Invalid("else", "does not belong to a transaction that may span groups; send it without an id, or with then alone")
		}
	}
	size, err := checkCompares(o.Compares, l)
	for _, branch := range []struct {
		name string
		ops  []Op
	}{{"then", o.Then}, {"else", o.Else}} {
		if err != nil {
			return err
		}
		var n int
		n, err = checkBranch(branch.name, branch.ops, l)
		size += n
	}
	if err == nil && size > MaxPayload {
		err = Invalid("txn", "has %d bytes of keys and values; the limit is %d", size, MaxPayload)
	}
	return err
}

// checkCompares returns the bytes of the keys and values compared.
func checkCompares(compares []Compare, l Limits) (size int, err *Error) {
	if len(compares) > MaxTxnOps {
		return 0, Invalid("compares", "there are %d; the limit is %d", len(compares), MaxTxnOps)
	}
	compared := map[string]bool{}
	for i, c := range compares {
		if err := c.check(l); err != nil {
			return 0, err.in("compares", i)
		}
		if compared[string(c.Key)] {
			return 0, Invalid("compares", "key %q stands there twice", c.Key)
		}
		compared[string(c.Key)] = true
		size += len(c.Key) + len(c.Cond.Value)
	}
	return size, nil
}

func (c Compare) check(l Limits) *Error {
	if err := checkKey(c.Key); err != nil {
		return err
	}
	if c.Cond.Kind == CondNone {
		return Invalid("cond", "compares key %q with nothing", c.Key)
	}
	return c.Cond.check(l)
}

// checkBranch returns the bytes of the branch's operations.
func checkBranch(name string, ops []Op, l Limits) (size int, err *Error) {
	if len(ops) > MaxTxnOps {
		return 0, Invalid(name, "there are %d operations; the limit is %d", len(ops), MaxTxnOps)
	}
	written := map[string]bool{}
	for i, o := range ops {
		if !inTxn(o.Code()) {
			return 0, Invalid(name, "%s cannot be part of a transaction", o.Code())
		}
		if err := o.Check(l); err != nil {
			return 0, err.in(name, i)
		}
		key, n := footprint(o)
		size += n
		if _, writes := o.(Write); writes {
			if written[string(key)] {
				return 0, Invalid(name, "writes key %q twice", key)
			}
			written[string(key)] = true
		}
	}
	return size, nil
}

// in returns the error of the i-th part of a list.
func (e *Error) in(list string, i int) *Error {
	e.Field = fmt.Sprintf("%s[%d].%s", list, i, e.Field)
	return e
}

// footprint returns the key of an operation that can be part of a transaction, and
// the bytes of its key and values.
func footprint(o Op) (key []byte, size int) {
	switch o := o.(type) {
	case Get:
		key = o.Key
	case Stat:
		key = o.Key
	case Set:
		key, size = o.Key, len(o.Value)+len(o.Cond.Value)
	case *Set: // see Entry.Sets
		key, size = o.Key, len(o.Value)+len(o.Cond.Value)
	case Delete:
		key, size = o.Key, len(o.Cond.Value)
	case Expire:
		key, size = o.Key, len(o.Cond.Value)
	case Add:
		key, size = o.Key, len(o.Cond.Value)
	}
	return key, size + len(key)
}

// AppendTo appends [[key, cond, key, cond…], [operation…], [operation…], id].
func (o Txn) AppendTo(b []byte) []byte {
	b = appendOps(appendOps(appendCompares(b, o.Compares), o.Then), o.Else)
	return appendBytes(b, o.ID)
}

func appendCompares(b []byte, compares []Compare) []byte {
	b = appendArray(b, 2*len(compares))
	for _, c := range compares {
		b = c.Cond.appendTo(appendBytes(b, c.Key))
	}
	return b
}

func appendOps(b []byte, ops []Op) []byte {
	b = appendArray(b, len(ops))
	for _, o := range ops {
		b = Append(b, o)
	}
	return b
}

func (r *reader) txn() Op {
	o := Txn{Compares: r.compares(), Then: r.ops("then"), Else: r.ops("else"), ID: r.bytes("id")}
	if len(o.ID) == 0 {
		o.ID = nil
	}
	return o
}

func (r *reader) compares() []Compare {
	n := r.array("compares")
	if n%2 != 0 || n > 2*MaxTxnOps {
		r.fail("compares: %d elements; an even number up to %d belongs here", n, 2*MaxTxnOps)
		return nil
	}
	var compares []Compare
	for range n / 2 {
		compares = append(compares, Compare{Key: r.bytes("key"), Cond: r.cond()})
	}
	return compares
}

// ops reads operations that can be part of a transaction; so transactions do not nest.
func (r *reader) ops(field string) []Op {
	n := r.array(field)
	if n > MaxTxnOps {
		r.fail("%s: there are %d operations; the limit is %d", field, n, MaxTxnOps)
		return nil
	}
	var ops []Op
	for range n {
		o := r.op(inTxn)
		if r.err != nil {
			return nil
		}
		ops = append(ops, o)
	}
	return ops
}

// Apply judges the compares and runs the branch that they choose.
func (o Txn) Apply(s State) Result {
	branch, unmet := o.choose(s)
	results, err := applyAll(s, branch)
	if err != nil {
		return Fail(err)
	}
	res := Result{Unmet: unmet, Results: results}
	if unmet && len(o.Else) == 0 {
		res.Items = o.standing(s)
		if res.Payload() > MaxPayload { // nothing was run
			return Fail(errAnswerTooLarge())
		}
	}
	return res
}

// choose judges the compares, and returns the branch that is to run.
func (o Txn) choose(v View) (branch []Op, unmet bool) {
	for _, c := range o.Compares {
		if rec, found := v.Lookup(c.Key); !c.Cond.holds(rec, found) {
			return o.Else, true
		}
	}
	return o.Then, false
}

// standing tells what stands at the keys compared.
func (o Txn) standing(v View) []Item {
	items := make([]Item, len(o.Compares))
	for i, c := range o.Compares {
		items[i] = Item{Key: c.Key}
		rec, found := v.Lookup(c.Key)
		if !found {
			continue
		}
		items[i] = newItem(Keyed{Key: string(c.Key), Record: rec}, v.Now())
		if !c.Cond.Show {
			items[i].Value = nil
		}
	}
	return items
}
