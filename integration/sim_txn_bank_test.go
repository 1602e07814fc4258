package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
)

// bank is accounts in all groups, between which transactions move money, and a row of
// marks, one in each group, that each transaction of another kind sets to one number.
type bank struct {
	c        *simCluster
	accounts [][]byte
	marks    [][]byte
	total    int64
	ids      atomic.Uint64

	mu      sync.Mutex
	up      map[string]*shard.Node
	faults  []string
	moved   int
	unknown []op.Txn
	told    []toldTxn
}

// toldTxn is a transaction with what its caller was told of it.
type toldTxn struct {
	txn     op.Txn
	outcome op.Outcome
}

func newBank(c *simCluster) *bank {
	b := &bank{c: c, up: map[string]*shard.Node{}}
	for id, s := range c.nodes {
		b.up[id] = s.node
	}
	m := c.clusterMap()
	for _, g := range m.Groups {
		for i, found := 0, 0; found < 3; i++ {
			key := fmt.Appendf(nil, "bank-%d", i)
			if m.GroupOf(op.SlotOf(key)) != g.ID {
				continue
			}
			if found++; found == 3 {
				b.marks = append(b.marks, key)
				c.do(op.Set{Key: key, Value: []byte("0")}, op.Local)
			} else {
				b.accounts = append(b.accounts, key)
				c.do(op.Set{Key: key, Value: []byte("100")}, op.Local)
				b.total += 100
			}
		}
	}
	return b
}

func (b *bank) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// kill stops a node while others use it; revive starts it again.
func (b *bank) kill(id string) {
	b.mu.Lock()
	delete(b.up, id)
	b.mu.Unlock()
	b.c.halt(id)
}

func (b *bank) revive(id string) {
	b.c.restart(id)
	b.mu.Lock()
	b.up[id] = b.c.nodes[id].node
	b.mu.Unlock()
}

// at asks one node.
func (b *bank) at(id string, o op.Op, level op.Level) op.Result {
	b.mu.Lock()
	node := b.up[id]
	b.mu.Unlock()
	if node == nil {
		return op.Fail(op.Unavailable("%s is down", id))
	}
	req := op.Request{Op: o, Level: level}
	req.Raw = op.AppendCommand(nil, req.Command())
	reply := make(replyChan, 1)
	node.Serve(req, reply)
	return <-reply
}

// txn does a transaction through some node, and notes what was told of it.
func (b *bank) txn(r *rand.Rand, o op.Txn) op.Result {
	o.ID = binary.BigEndian.AppendUint64(make([]byte, 8), b.ids.Add(1))
	res := b.at(b.c.init[r.IntN(len(b.c.init))].ID, o, op.Local)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case res.Err == nil && !res.Unmet:
		b.told = append(b.told, toldTxn{o, op.Committed})
		b.moved++
	case res.Err != nil && res.Err.Kind == op.KindUnknown:
		b.unknown = append(b.unknown, o)
	default:
		b.told = append(b.told, toldTxn{o, op.Aborted})
	}
	return res
}

func (b *bank) pick(r *rand.Rand) (from, to []byte) {
	i := r.IntN(len(b.accounts))
	j := (i + 1 + r.IntN(len(b.accounts)-1)) % len(b.accounts)
	return b.accounts[i], b.accounts[j]
}

// transfer moves money, if there is enough.
func (b *bank) transfer(r *rand.Rand) {
	from, to := b.pick(r)
	amount, none := int64(1+r.IntN(30)), int64(0)
	b.txn(r, op.Txn{Then: []op.Op{op.Add{Key: from, Delta: -amount, Min: &none}, op.Add{Key: to, Delta: amount}}})
}

// mark raises all marks by one, in one transaction.
func (b *bank) mark(r *rand.Rand) {
	var o op.Txn
	for _, key := range b.marks {
		o.Then = append(o.Then, op.Add{Key: key, Delta: 1})
	}
	b.txn(r, o)
}

// audit reads all accounts in one transaction.
func (b *bank) audit(r *rand.Rand) {
	var o op.Txn
	for _, key := range b.accounts {
		o.Then = append(o.Then, op.Get{Key: key})
	}
	res := b.txn(r, o)
	if res.Err != nil || res.Results == nil { // or they were lost, and only the commit is known
		return
	}
	var sum int64
	for i, got := range res.Results {
		n, _ := strconv.ParseInt(string(got.Value), 10, 64)
		if sum += n; n < 0 {
			b.fault("account %s has %d", b.accounts[i], n)
		}
	}
	if sum != b.total {
		b.fault("the accounts hold %d in one transaction, want %d", sum, b.total)
	}
}

// look reads the marks one after another: each must show at least what the one before
// showed.
func (b *bank) look(r *rand.Rand) {
	last := int64(-1)
	for _, i := range r.Perm(len(b.marks)) {
		var res op.Result
		for _, m := range b.c.init {
			if res = b.at(m.ID, op.Get{Key: b.marks[i]}, op.Linearizable); res.Err == nil {
				break
			}
		}
		if res.Err != nil {
			return
		}
		n, _ := strconv.ParseInt(string(res.Value), 10, 64)
		if n < last {
			b.fault("a mark shows %d after another one showed %d", n, last)
		}
		last = n
	}
}

// run does all that for a while, with workers of each kind.
func (b *bank) run(seed uint64, length time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var wg sync.WaitGroup
	for i, work := range []func(*rand.Rand){b.transfer, b.transfer, b.transfer, b.mark, b.audit, b.look, b.look} {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				work(r)
				time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// settle checks, in a cluster without faults, that all is unlocked in time and adds up.
func (b *bank) settle() {
	b.c.t.Helper()
	time.Sleep(op.TxnPatience*time.Millisecond + 2*time.Second)
	for i, keys := range [][][]byte{b.accounts, b.marks} {
		var sum int64
		values := map[int64]bool{}
		for _, key := range keys {
			if res, err := b.c.try(op.Expire{Key: key}, op.Local); err != nil {
				b.fault("%s: %v, %+v", key, err, res)
			}
			n, _ := strconv.ParseInt(string(b.c.do(op.Get{Key: key}, op.Linearizable).Value), 10, 64)
			sum += n
			values[n] = true
		}
		if i == 0 && sum != b.total {
			b.fault("the accounts hold %d in the end, want %d", sum, b.total)
		}
		if i == 1 && len(values) != 1 {
			b.fault("the marks show %v in the end", values)
		}
	}
	b.checkOutcomes()
	for _, fault := range b.faults {
		b.c.t.Error(fault)
	}
}

// checkOutcomes compares what callers were told with what the home groups tell, and
// settles what they were not told.
func (b *bank) checkOutcomes() {
	for _, o := range b.unknown {
		settled := op.Outcome(b.c.do(op.AbortTxn{ID: o.ID, Home: o.Home()}, op.Local).Number)
		if got := b.c.outcomeOf(o); settled == op.Undecided || got != settled {
			b.fault("a transaction is %v when it is settled, then %v", settled, got)
		}
	}
	for _, o := range b.told {
		if got, want := b.c.outcomeOf(o.txn), o.outcome; got != want && (want == op.Committed || got == op.Committed) {
			b.fault("a transaction is %v, but its caller was told %v", got, want)
		}
	}
	b.c.t.Logf("%d committed, %d others, %d unknown", b.moved, len(b.told)-b.moved, len(b.unknown))
}

// slowDisks makes each write to a log take a while, so that faults find transactions
// between two steps.
func (c *simCluster) slowDisks(seed uint64) {
	slow := slowDisk(seed, 5*time.Millisecond)
	for _, s := range c.nodes {
		s.fault.Store(&slow)
	}
}

func TestSimTransfersKeepTheTotal(t *testing.T) {
	t.Parallel()
	for name, nemesis := range map[string]func(b *bank, r *rand.Rand){
		"nobody disturbs": func(*bank, *rand.Rand) { time.Sleep(time.Second) },
		"nodes die": func(b *bank, r *rand.Rand) {
			id := b.c.init[r.IntN(len(b.c.init))].ID
			b.kill(id)
			time.Sleep(time.Duration(r.IntN(2500)) * time.Millisecond)
			b.revive(id)
		},
		"nodes are cut off": func(b *bank, r *rand.Rand) {
			b.c.fabric.Isolate(b.c.init[r.IntN(len(b.c.init))].ID)
			time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
			b.c.fabric.HealAll()
		},
		"pairs of nodes are cut off, one way": func(b *bank, r *rand.Rand) {
			for range 2 {
				i, all := r.IntN(len(b.c.init)), b.c.init
				b.c.fabric.CutOneWay(all[i].ID, all[(i+1+r.IntN(len(all)-1))%len(all)].ID)
			}
			time.Sleep(time.Duration(r.IntN(6000)) * time.Millisecond)
			b.c.fabric.HealAll()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				seed := newSeed()
				t.Logf("run it again with: go test ./integration -run TestSimTransfersKeepTheTotal -seed %d", seed)
				c := newSimCluster(t, 5, 4)
				b := newBank(c)
				c.slowDisks(seed)
				done := make(chan struct{})
				go func() {
					defer close(done)
					b.run(seed, bankTime)
				}()
				r := rand.New(rand.NewPCG(seed, 99))
				for range 4 {
					nemesis(b, r)
					time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
				}
				<-done
				c.waitReady()
				b.settle()
				if b.moved < 5 {
					t.Errorf("only %d transactions were committed", b.moved)
				}
			})
		})
	}
}
