package op_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

func ifValue(v string) op.Cond   { return op.Cond{Kind: op.CondValue, Value: []byte(v)} }
func ifVersion(v uint64) op.Cond { return op.Cond{Kind: op.CondVersion, Version: v} }

// TestContradictionsNameTheirField: what cannot be meant is refused before it reaches
// a log.
func TestContradictionsNameTheirField(t *testing.T) {
	t.Parallel()
	key, five, six := []byte("k"), int64(5), int64(6)
	cond := func(c op.Cond) op.Op { return op.Set{Key: key, Cond: c} }
	txn := func(compares []op.Compare, then ...op.Op) op.Txn { return op.Txn{Compares: compares, Then: then} }
	get := op.Get{Key: key}
	many := make([]op.Op, op.MaxTxnOps+1)
	for i := range many {
		many[i] = get
	}
	var compares []op.Compare
	for i := range op.MaxTxnOps + 1 {
		compares = append(compares, op.Compare{Key: fmt.Appendf(nil, "k%d", i), Cond: op.Cond{Kind: op.CondAbsent}})
	}
	large := bytes.Repeat([]byte("v"), op.MaxPayload/2+1)
	for name, tc := range map[string]struct {
		op    op.Op
		field string
		says  string
	}{
		"absent with a version":        {cond(op.Cond{Kind: op.CondAbsent, Version: 3}), "cond", "version"},
		"present with a value":         {cond(op.Cond{Kind: op.CondPresent, Value: []byte("v")}), "cond", "value"},
		"a version and a value":        {cond(op.Cond{Kind: op.CondVersion, Version: 3, Value: []byte("v")}), "cond", "value"},
		"a value and a version":        {cond(op.Cond{Kind: op.CondValue, Version: 3, Value: []byte("v")}), "cond", "version"},
		"nothing with a version":       {cond(op.Cond{Version: 3}), "cond", "version"},
		"version 0":                    {cond(ifVersion(0)), "cond", "absent"},
		"an unknown kind":              {cond(op.Cond{Kind: op.CondValue + 1}), "cond", "unknown"},
		"a value that none can be":     {cond(ifValue(strings.Repeat("v", op.MaxValueLimit+1))), "cond", "max-value-bytes"},
		"two values over the payload":  {op.Set{Key: key, Value: large, Cond: ifValue(string(large))}, "cond", fmt.Sprint(op.MaxValueLimit)},
		"a delete's condition":         {op.Delete{Key: key, Cond: ifVersion(0)}, "cond", "absent"},
		"an expire's condition":        {op.Expire{Key: key, Cond: ifVersion(0)}, "cond", "absent"},
		"an add's condition":           {op.Add{Key: key, Cond: ifVersion(0)}, "cond", "absent"},
		"one version of many keys":     {op.MSet{Pairs: []op.Pair{{Key: key}}, Cond: ifVersion(3)}, "cond", "transaction"},
		"one value of many keys":       {op.MDelete{Keys: [][]byte{key}, Cond: ifValue("v")}, "cond", "transaction"},
		"absent with a value, of many": {op.MDelete{Keys: [][]byte{key}, Cond: op.Cond{Kind: op.CondAbsent, Value: []byte("v")}}, "cond", "value"},
		"a min over the max":           {op.Add{Key: key, Min: &six, Max: &five}, "min", "over max"},
		"clamping without bounds":      {op.Add{Key: key, Clamp: true}, "clamp", "min or a max"},
		"an add's negative ttl":        {op.Add{Key: key, TTL: -1}, "ttl", "between"},
		"an empty transaction":         {op.Txn{}, "txn", "neither"},
		"a short id":                   {op.Txn{ID: []byte("short"), Then: []op.Op{get}}, "id", "16"},
		"an id and an else":            {op.Txn{ID: txnID(1), Then: []op.Op{get}, Else: []op.Op{get}}, "else", "span groups"},
		"asking for a short id":        {op.GetTxn{ID: []byte("short")}, "id", "16"},
		"aborting by no slot":          {op.AbortTxn{ID: txnID(1), Home: op.Slots}, "home", "4095"},
		"preparing nothing":            {op.Prepare{Attempt: attempt(1)}, "txn", "neither"},
		"preparing without an id":      {op.Prepare{Ops: []op.Op{get}}, "id", "16"},
		"deciding without an id":       {op.Decide{Ops: []op.Op{get}}, "id", "16"},
		"deciding a contradiction":     {op.Decide{Attempt: attempt(1), Compares: []op.Compare{{Key: key}}}, "compares[0].cond", "nothing"},
		"finishing without an id":      {op.Finish{}, "id", "16"},
		"forgetting without an id":     {op.Forget{}, "id", "16"},
		"too many compares":            {txn(compares), "compares", "256"},
		"a key compared twice":         {txn([]op.Compare{{Key: key, Cond: ifVersion(1)}, {Key: key, Cond: ifVersion(2)}}), "compares", `"k" stands there twice`},
		"a compare with nothing":       {txn([]op.Compare{{Key: key}}), "compares[0].cond", "nothing"},
		"a compare's contradiction":    {txn([]op.Compare{compares[0], {Key: key, Cond: ifVersion(0)}}), "compares[1].cond", "absent"},
		"a compare without a key":      {txn([]op.Compare{{Cond: ifVersion(1)}}), "compares[0].key", "4096"},
		"too many operations":          {txn(nil, many...), "then", "256"},
		"too many others":              {op.Txn{Else: many}, "else", "256"},
		"a key written twice":          {txn(nil, op.Set{Key: key}, get, op.Delete{Key: key}), "then", `"k" twice`},
		"a key changed twice, else":    {op.Txn{Else: []op.Op{op.Add{Key: key}, op.Expire{Key: key}}}, "else", `"k" twice`},
		"an operation of many keys":    {txn(nil, op.MDelete{Keys: [][]byte{key}}), "then", "mdelete"},
		"a transaction in another":     {txn(nil, op.Txn{Then: []op.Op{get}}), "then", "txn"},
		"a session in a transaction":   {txn(nil, op.OpenSession{TTL: op.MinSessionTTL}), "then", "open-session"},
		"a part's ttl":                 {txn(nil, get, op.Set{Key: key, TTL: -1}), "then[1].ttl", "between"},
		"too much in all":              {op.Txn{Then: []op.Op{op.Set{Key: key, Value: large}}, Else: []op.Op{op.Set{Key: key, Value: large}}}, "txn", fmt.Sprint(op.MaxPayload)},
		"too short a session":          {op.OpenSession{TTL: op.MinSessionTTL - 1}, "ttl", "10000"},
		"too long a session":           {op.OpenSession{TTL: op.MaxSessionTTL + 1}, "ttl", "86400000"},
		"closing no session":           {op.CloseSession{}, "session", "1, 2, 3"},
		"closing one of no slot":       {op.CloseSession{OnSlot: op.Slots, Session: 1}, "slot", "4095"},
		"a session of no slot":         {op.OpenSession{OnSlot: op.Slots, TTL: op.MinSessionTTL}, "slot", "4095"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuses(t, tc.op.Check(op.Limits{MaxValue: op.MaxValueLimit}), tc.field, tc.says)
		})
	}
}

func refuses(t *testing.T, err *op.Error, field, says string) {
	t.Helper()
	if err == nil || err.Field != field || !strings.Contains(err.Error(), says) || !errors.Is(err, op.ErrRefused) {
		t.Errorf("got %v; want a refusal that names %s and says %q", err, field, says)
	}
}

func TestWhatIsNoContradictionPasses(t *testing.T) {
	t.Parallel()
	key, least, most := []byte("k"), int64(math.MinInt64), int64(math.MaxInt64)
	for name, o := range map[string]op.Op{
		"an empty value":                op.Set{Key: key, Cond: ifValue("")},
		"show without a condition":      op.Add{Key: key, Min: &least, Cond: op.Cond{Show: true}},
		"bounds at the ends":            op.Add{Key: key, Min: &least, Max: &most},
		"equal bounds":                  op.Add{Key: key, Min: &most, Max: &most, Clamp: true},
		"the highest version":           op.Delete{Key: key, Cond: ifVersion(math.MaxUint64)},
		"one key read and written":      op.Txn{Then: []op.Op{op.Get{Key: key}, op.Set{Key: key}, op.Get{Key: key}}},
		"one key written in each case":  op.Txn{Then: []op.Op{op.Set{Key: key}}, Else: []op.Op{op.Delete{Key: key}}},
		"compares alone":                op.Txn{Compares: []op.Compare{{Key: key, Cond: ifVersion(1)}}},
		"a key compared and written":    op.Txn{Compares: []op.Compare{{Key: key, Cond: ifVersion(1)}}, Then: []op.Op{op.Set{Key: key}}},
		"the shortest and last session": op.OpenSession{OnSlot: op.Slots - 1, TTL: op.MinSessionTTL},
	} {
		if err := o.Check(op.Limits{MaxValue: 10}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNumbersOfACommandFitTogether(t *testing.T) {
	t.Parallel()
	write := op.Set{Key: []byte("k")}
	for name, tc := range map[string]struct {
		op.Command
		field string // "" if it passes
	}{
		"no session":                       {op.Command{Op: write}, ""},
		"a read":                           {op.Command{Op: op.Get{Key: []byte("k")}}, ""},
		"the first write":                  {op.Command{Session: 1, Sequence: 1, Op: write}, ""},
		"all before acknowledged":          {op.Command{Session: 1, Sequence: 9, Acknowledged: 9, Op: write}, ""},
		"a sequence without a session":     {op.Command{Sequence: 1, Op: write}, "session"},
		"acknowledging without a session":  {op.Command{Acknowledged: 1, Op: write}, "session"},
		"a session without a sequence":     {op.Command{Session: 1, Op: write}, "sequence"},
		"acknowledging itself":             {op.Command{Session: 1, Sequence: 9, Acknowledged: 10, Op: write}, "acknowledged"},
		"a transaction with an id":         {op.Command{Session: 1, Sequence: 1, Op: op.Txn{ID: txnID(1), Then: []op.Op{write}}}, "session"},
		"a part in a session":              {op.Command{Session: 1, Sequence: 1, Op: op.Forget{Attempt: attempt(1)}}, "session"},
		"a read in a session":              {op.Command{Session: 1, Sequence: 1, Op: op.Get{Key: []byte("k")}}, "session"},
		"opening a session in a session":   {op.Command{Session: 1, Sequence: 1, Op: op.OpenSession{TTL: op.MinSessionTTL}}, "session"},
		"closing a session in a session":   {op.Command{Session: 1, Sequence: 1, Op: op.CloseSession{Session: 1}}, "session"},
		"the node's own in a session":      {op.Command{Session: 1, Sequence: 1, Op: op.Sweep{Limit: 1}}, "session"},
		"a cluster operation in a session": {op.Command{Session: 1, Sequence: 1, Op: op.Status{}}, "session"},
	} {
		err := op.CheckCommand(tc.Command)
		req := op.Request{Session: tc.Session, Sequence: tc.Sequence, Acknowledged: tc.Acknowledged, Op: tc.Op}
		if again := req.Check(); !reflect.DeepEqual(again, err) {
			t.Errorf("%s: as a request %v, as a command %v", name, again, err)
		}
		if tc.field != "" {
			refuses(t, err, tc.field, "")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatRefusesOneTryAlone: an earlier try of the write may be done all the same.
func TestWhatRefusesOneTryAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		res  op.Result
		want bool
	}{
		"done":                             {op.Result{Index: 7}, false},
		"no room for the answer":           {op.Result{Index: 7, Err: &op.Error{Kind: op.KindOutOfMemory, Field: op.FieldSession}}, true},
		"no room for the record":           {op.Result{Index: 7, Err: &op.Error{Kind: op.KindOutOfMemory}}, false},
		"refused before it was in the log": {op.Result{Err: op.Invalid("value", "is too long")}, true},
		"refused by the state machine":     {op.Result{Index: 7, Err: op.Invalid("txn", "answers too much")}, false},
		"a conflict":                       {op.Result{Index: 7, Err: &op.Error{Kind: op.KindConflict}}, false},
	} {
		if got := tc.res.OfThisTry(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestBoundsFitTheLevel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		level  op.Level
		bound  uint64
		passes bool
	}{
		"local":                   {op.Local, 0, true},
		"local with a bound":      {op.Local, 1, false},
		"session":                 {op.Session, 1 << 63, true},
		"session from the start":  {op.Session, 0, true},
		"bounded":                 {op.Bounded, 1, true},
		"bounded by an hour":      {op.Bounded, op.MaxBound, true},
		"bounded by nothing":      {op.Bounded, 0, false},
		"bounded by too much":     {op.Bounded, op.MaxBound + 1, false},
		"linearizable":            {op.Linearizable, 0, true},
		"linearizable with bound": {op.Linearizable, 1, false},
	} {
		req := op.Request{Level: tc.level, Bound: tc.bound, Op: op.Get{Key: []byte("k")}}
		err := req.Check()
		if !tc.passes {
			refuses(t, err, "bound", "")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommandSurvivesTheWire(t *testing.T) {
	t.Parallel()
	want := op.Request{
		Epoch: 1 << 40, Level: op.Session, Bound: math.MaxUint64,
		Session: 7, Sequence: math.MaxUint64, Acknowledged: 1 << 33, Op: op.Delete{Key: []byte("k")},
	}
	got, err := op.DecodeRequest(want.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	var entry op.EntryBuilder
	entry.Add(got.Raw)
	e, err := op.DecodeEntry(entry.Build(1, nil))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := e.Next(); err != nil || !reflect.DeepEqual(c, want.Command()) {
		t.Errorf("the entry holds %+v, %v; want %+v", c, err, want.Command())
	}
	got.Raw = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}

func TestDecodingRefusesMalformedTransactions(t *testing.T) {
	t.Parallel()
	txn := func(o op.Txn) []byte { return op.Append(nil, o) }
	key := []byte("k")
	valid := txn(op.Txn{Compares: []op.Compare{{Key: key, Cond: ifVersion(3)}}, Then: []op.Op{op.Get{Key: key}}})
	odd := bytes.Clone(valid)
	odd[2] = 0x91 // one compare's key without its condition
	kind := bytes.Clone(valid)
	kind[bytes.IndexByte(kind, byte(op.CondVersion))] = 9
	many := make([]op.Op, op.MaxTxnOps+1)
	for i := range many {
		many[i] = op.Get{Key: key}
	}
	for name, b := range map[string][]byte{
		"an odd number of compares":         odd,
		"an unknown condition":              kind,
		"a transaction in another":          txn(op.Txn{Then: []op.Op{op.Txn{Then: []op.Op{op.Get{Key: key}}}}}),
		"an operation of many keys":         txn(op.Txn{Else: []op.Op{op.MDelete{Keys: [][]byte{key}}}}),
		"a scan":                            txn(op.Txn{Then: []op.Op{op.Scan{Cursor: op.ScanCursor(0, nil), Limit: 1}}}),
		"a sweep":                           txn(op.Txn{Then: []op.Op{op.Sweep{Limit: 1}}}),
		"more operations than there can be": txn(op.Txn{Then: many}),
		"cut off":                           valid[:len(valid)-1],
	} {
		if o, err := op.Decode(b); err == nil {
			t.Errorf("%s: decoded as %#v", name, o)
		}
	}
	if _, err := op.Decode(valid); err != nil {
		t.Errorf("the valid one: %v", err)
	}
}

func TestRoutesOfATransaction(t *testing.T) {
	t.Parallel()
	at := func(k string) uint16 { return op.SlotOf([]byte(k)) }
	o := op.Txn{
		Compares: []op.Compare{{Key: []byte("a")}},
		Then:     []op.Op{op.Set{Key: []byte("b")}, op.Get{Key: []byte("c")}},
		Else:     []op.Op{op.Delete{Key: []byte("d")}},
	}
	var got []uint16
	for i := range o.NumSlots() {
		got = append(got, o.Slot(i))
	}
	if want := []uint16{at("a"), at("b"), at("c"), at("d")}; !reflect.DeepEqual(got, want) {
		t.Errorf("slots %d, want %d", got, want)
	}
}
