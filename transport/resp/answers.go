package resp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

// render writes the answer to a command whose operation had the result res.
type render func(r *reply, res op.Result)

// answers puts a connection's answers on the wire in the order of its commands, in
// whatever order they are given.
type answers struct {
	writer    *stream.BurstWriter
	most      int         // answers that may wait
	mostBytes int         // of answers that may wait
	crowded   atomic.Bool // one of the two was reached: the reader makes room

	mu      sync.Mutex
	changed sync.Cond // the reader waits here
	row     []*answer // in order; from head on they wait, of which the first is not given yet
	head    int
	out     reply // what the writer has not taken; its protocol is that of new answers
	mute    bool  // no answer is wanted
	skip    int   // nor are so many next ones
	unsent  int   // bytes waiting behind an answer that is not given
	writing int   // bytes that the writer has taken, and perhaps not written
	busy    bool  // the reader works on what has come, and flushes at its end
	sealed  bool  // nothing is added any more
}

// keptPlaces is after how many answers the row moves to the front of its memory.
const keptPlaces = 1024

func newAnswers(socket *stream.Socket, timeout time.Duration, most, mostBytes int) *answers {
	a := &answers{most: most, mostBytes: mostBytes, out: reply{proto: 2}}
	a.changed.L = &a.mu
	a.writer = stream.NewBurstWriter(socket, timeout, a.take)
	return a
}

// answer is the place of one answer in the row, and the op.Replier that fills it. What
// is set before the request is handed over does not change after.
type answer struct {
	to     *answers
	render render
	from   *conn
	group  uint64
	req    op.Request
	again  bool // the node has the request once more, or does that itself
	text   reply
	// state is set last: whoever sees that it is sent may use the place again.
	state atomic.Int32
}

// The states of an answer.
const (
	awaited = iota
	given   // and waits behind others
	sent    // is among what the writer takes next, or was
)

// now gives an answer at once.
func (a *answers) now(write func(r *reply)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.muted() {
		return
	}
	if a.count() == 0 {
		write(&a.out)
		a.tell()
		return
	}
	place := &answer{to: a, text: reply{proto: a.out.proto}}
	write(&place.text)
	place.state.Store(given)
	a.unsent += len(place.text.b)
	a.add(place)
}

// later keeps place, a new one, for the answer to a request.
func (a *answers) later(place *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.muted() {
		place.render = func(*reply, op.Result) {}
	}
	place.to, place.text.proto = a, a.out.proto
	a.add(place)
}

func (a *answers) add(place *answer) {
	a.row = append(a.row, place)
	a.weigh()
}

// weigh notes it when too much waits.
func (a *answers) weigh() {
	if !a.hasRoom() {
		a.crowded.Store(true)
	}
}

// hasRoom reports whether few enough answers, and bytes of them, wait.
func (a *answers) hasRoom() bool {
	return a.count() < a.most && len(a.out.b)+a.unsent+a.writing < a.mostBytes
}

// muted reports whether the answer that is due is not wanted.
func (a *answers) muted() bool {
	muted := a.mute || a.skip > 0
	a.skip = max(a.skip-1, 0)
	return muted
}

func (a *answers) count() int { return len(a.row) - a.head }

// Reply fills the place.
func (p *answer) Reply(res op.Result) {
	if res.Err != nil && !p.again && worthARetry(res.Err.Kind) {
		p.again = true
		p.from.server.cfg.Node.Again(p.req, res.Err, p.Reply)
		return
	}
	p.from.session.seen.note(p.group, res.Index)
	a := p.to
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.row[a.head] != p {
		p.render(&p.text, res)
		a.unsent += len(p.text.b)
		p.state.Store(given)
		a.weigh()
		return
	}
	p.render(&a.out, res)
	for a.advance(); a.count() > 0 && a.row[a.head].state.Load() == given; a.advance() {
		text := a.row[a.head].text.b
		a.unsent -= len(text)
		a.out.b = append(a.out.b, text...)
	}
	a.tell()
	p.state.Store(sent)
}

// advance drops the first place. The row's memory is used again.
func (a *answers) advance() {
	a.row[a.head] = nil
	a.head++
	if a.head == len(a.row) || a.head >= keptPlaces {
		n := copy(a.row, a.row[a.head:])
		clear(a.row[n:])
		a.row, a.head = a.row[:n], 0
	}
}

// worthARetry says which failures another node, or the same one later, may not have.
func worthARetry(k op.Kind) bool {
	return k == op.KindWrongNode || k == op.KindUnavailable || k == op.KindLocked
}

// tell wakes those who wait for answers, or for what they free.
func (a *answers) tell() {
	a.weigh()
	if !a.busy {
		a.writer.Signal()
	}
	a.changed.Signal()
}

// take gives the writer what it may write.
func (a *answers) take(spare []byte) (burst []byte, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	burst, a.out.b = a.out.b, spare
	a.writing = len(burst)
	a.changed.Signal()
	return burst, !a.sealed
}

// work notes that the reader has something to do: what it answers is flushed by rest.
func (a *answers) work() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = true
}

// ready reports whether the next answers can be given at once: none waits before them, and
// all are wanted. Then it is work, too.
func (a *answers) ready() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count() > 0 || a.mute || a.skip > 0 || !a.hasRoom() || a.sealed {
		return false
	}
	a.busy = true
	return true
}

// append gives answers after ready.
func (a *answers) append(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out.b = append(a.out.b, b...)
	a.weigh()
}

// rest flushes, before the reader waits for the client.
func (a *answers) rest() {
	a.mu.Lock()
	unsent := a.busy && len(a.out.b) > 0
	a.busy = false
	a.mu.Unlock()
	if unsent {
		a.writer.Flush()
	}
}

// drain waits until all answers are given.
func (a *answers) drain() { a.waitUntil(func() bool { return a.count() == 0 }) }

// makeRoom waits until there is room for one more.
func (a *answers) makeRoom() {
	if a.crowded.Load() {
		a.waitUntil(a.hasRoom)
		a.crowded.Store(false)
	}
}

func (a *answers) waitUntil(done func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done() || a.sealed {
		return
	}
	a.busy = false
	a.writer.Signal() // its next take tells what is written
	for !done() && !a.sealed {
		a.changed.Wait()
	}
	a.busy = true
}

// seal lets the writer end once it has written what there is.
func (a *answers) seal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed = true
	a.writer.Signal()
	a.changed.Signal()
}

// silence changes which answers are wanted: none, or all but the next few.
func (a *answers) silence(mute bool, skip int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mute, a.skip = mute, skip
}

// idle reports whether all answers are given.
func (a *answers) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count() == 0
}

// setProto changes the protocol version of the answers to come.
func (a *answers) setProto(version int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out.proto = version
}
