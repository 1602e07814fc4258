package integration

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// levels are keys that are written over and over, and read at every level: by version
// it shows whether a read is as new as its level promises.
type levels struct {
	faults
	keys []*leveled
}

// leveled is what is known of one key.
type leveled struct {
	key []byte

	mu     sync.Mutex
	acked  []ack // by time, and so by version
	tokens []seenToken
}

// ack is the moment from which on reads must show a version.
type ack struct {
	at      time.Time
	version uint64
}

// seenToken is what a caller could hand on, and the version that it had seen then.
type seenToken struct {
	token   any
	version uint64
}

func newLevels() *levels {
	w := &levels{}
	for i := range 3 {
		w.keys = append(w.keys, &leveled{key: fmt.Appendf(nil, "leveled-%d", i)})
	}
	return w
}

func (w *levels) step(a caller, who int, random *rand.Rand) {
	k := w.keys[random.IntN(len(w.keys))]
	reader := who%2 == 0 // who never waits for a write asks a leader without followers most
	if !reader && random.IntN(2) == 0 {
		if res, out := a.do(op.Set{Key: k.key, Value: fmt.Append(nil, who)}, client.Local); out == done {
			k.saw(a, res.Version)
			k.acknowledge(res.Version)
		}
		return
	}
	asked := time.Now()
	switch random.IntN(5) {
	case 0, 1:
		w.read(a, k, client.Linearizable, k.ackedAt(asked))
	case 2:
		within := time.Duration(1+random.IntN(3000)) * time.Millisecond
		w.read(a, k, client.Bounded(within), k.ackedAt(asked.Add(-within)))
	case 3:
		version := uint64(0)
		if seen, ok := k.pickToken(random); ok {
			a.adopt(seen.token)
			version = seen.version
		}
		w.read(a, k, client.Session, version)
	default: // no promise, but that no session goes back behind it
		w.read(a, k, client.Local, 0)
	}
}

// read reports a read that shows less than version least.
func (w *levels) read(a caller, k *leveled, level client.Level, least uint64) {
	res, out := a.do(op.Get{Key: k.key}, level)
	if out != done {
		return
	}
	if res.Version < least {
		w.report("a read of %s at the level %s showed version %d, promised was at least %d", k.key, level, res.Version, least)
	}
	k.saw(a, res.Version)
	if level == client.Linearizable {
		k.acknowledge(res.Version) // no later one may show less
	}
}

func (k *leveled) saw(a caller, version uint64) {
	token := a.token()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tokens = append(k.tokens, seenToken{token, version})
	if len(k.tokens) > 8 {
		k.tokens = k.tokens[1:]
	}
}

func (k *leveled) pickToken(random *rand.Rand) (seenToken, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.tokens) == 0 {
		return seenToken{}, false
	}
	return k.tokens[random.IntN(len(k.tokens))], true
}

func (k *leveled) acknowledge(version uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.acked); n == 0 || k.acked[n-1].version < version {
		k.acked = append(k.acked, ack{time.Now(), version})
	}
}

// ackedAt returns the newest version that had been acknowledged before a moment.
func (k *leveled) ackedAt(at time.Time) (version uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := len(k.acked) - 1; i >= 0; i-- {
		if k.acked[i].at.Before(at) {
			return k.acked[i].version
		}
	}
	return 0
}

func (w *levels) settle(a caller) {
	for _, k := range w.keys {
		least := k.ackedAt(time.Now().Add(time.Hour))
		if res, ok := w.settledRead(a, op.Get{Key: k.key}); ok && res.Version < least {
			w.report("%s ends with version %d, acknowledged was %d", k.key, res.Version, least)
		}
	}
}

// lives are records that end. When they do is a matter of clocks, which jump; that all
// replicas agree on it shows in their digests, which are compared in the end. Group time
// never goes back: what a caller is told twice of one version cannot have gained time.
type lives struct {
	faults
	mu   sync.Mutex
	left map[heir]rest
}

// heir is a caller, and a key of which it was told.
type heir struct {
	who int
	key string
}

// rest is what a version had left to live, in ms, as a write saw it, in group time.
type rest struct {
	version uint64
	ttl     int64
}

// longestLife, in ms, is given to every other one: where time goes back, more is left.
const longestLife = 10_000

func newLives() *lives { return &lives{left: map[heir]rest{}} }

func (w *lives) step(a caller, who int, random *rand.Rand) {
	key := fmt.Appendf(nil, "mortal-%d", random.IntN(6))
	ttl := int64(longestLife)
	if random.IntN(2) == 0 {
		ttl = 1 + random.Int64N(longestLife)
	}
	least := int64(-100)
	switch random.IntN(10) {
	case 0:
		a.do(op.Set{Key: key, Value: []byte("2"), TTL: ttl, Cond: op.Cond{Kind: op.CondPresent}}, client.Local)
	case 1:
		a.do(op.Add{Key: key, Delta: -1, Min: &least, Clamp: true}, client.Local)
	case 2:
		a.do(op.Expire{Key: key, TTL: ttl}, client.Local)
	case 3:
		a.do(op.Set{Key: key, Value: []byte("3"), TTL: ttl}, client.Local)
	case 4, 5:
		if res, out := a.do(op.Get{Key: key}, client.Linearizable); out == done && res.TTL > longestLife {
			w.report("%s has %d ms left to live, more than it was ever given", key, res.TTL)
		}
	default:
		o := op.Set{Key: key, Value: []byte("1"), TTL: ttl, Cond: op.Cond{Kind: op.CondAbsent}}
		if res, out := a.do(o, client.Local); out == done && res.Unmet {
			w.age(heir{who, string(key)}, rest{res.Version, res.TTL})
		}
	}
}

// age notes what is left now, which is at most what was left before.
func (w *lives) age(h heir, now rest) {
	w.mu.Lock()
	before := w.left[h]
	w.left[h] = now
	w.mu.Unlock()
	if before.version == now.version && now.ttl > before.ttl {
		w.report("version %d of %s had %d ms left to live, and then %d", now.version, h.key, before.ttl, now.ttl)
	}
}

func (w *lives) settle(caller) {}
