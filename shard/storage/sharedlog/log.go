package sharedlog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

const (
	defaultSegmentBytes = 16 << 20
	minSegmentBytes     = 4 << 10
	maxSegmentBytes     = 1 << 30

	// mostPending bounds what waits for the writer, in bytes; a larger entry goes alone.
	mostPending = 4 << 20
)

// Config says how a log is kept. The zero value works.
type Config struct {
	// SegmentBytes is the size of a segment, 4 KiB to 1 GiB; 0 for 16 MiB. The log
	// takes at most twice what its entries need and eight segments, once compaction
	// has caught up.
	SegmentBytes int
	// Logger gets warnings of what is tried again; nil for none.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.SegmentBytes == 0 {
		c.SegmentBytes = defaultSegmentBytes
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.SegmentBytes < minSegmentBytes || c.SegmentBytes > maxSegmentBytes {
		return c, fmt.Errorf("sharedlog: SegmentBytes is %d; it must lie between %d and %d", c.SegmentBytes, minSegmentBytes, maxSegmentBytes)
	}
	return c, nil
}

// ID names a replica's view.
type ID struct{ Group, Generation uint64 }

func (id ID) String() string { return fmt.Sprintf("%d.%d", id.Group, id.Generation) }

func (id ID) compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Group, other.Group), cmp.Compare(id.Generation, other.Generation))
}

// Log is the log of all replicas in a directory, of which it is the only user. Its
// methods may be called from several goroutines.
type Log struct {
	segmentBytes int64
	limit        int // of pending, in bytes
	log          *slog.Logger
	chain        *chain
	spares       *spares
	writer       *writer
	compactor    *compactor
	wg           sync.WaitGroup // writer, compactor
	closing      sync.Once
	closeErr     error

	mu      sync.Mutex
	room    *sync.Cond // told when pending was taken, or closed was set
	pending batch
	views   map[ID]*View
	closed  bool
}

// Open opens the log in a directory that exists; one without files is an empty log.
// Errors wrap ErrCorrupt where the log is damaged. It writes no segment, so that it
// works on a full disk.
func Open(dir string, cfg Config) (*Log, error) { return open(directory(dir), cfg) }

func open(d disk, cfg Config) (*Log, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{
		segmentBytes: int64(cfg.SegmentBytes),
		limit:        min(cfg.SegmentBytes/4, mostPending),
		log:          cfg.Logger,
		chain:        &chain{},
		spares:       newSpares(d, int64(cfg.SegmentBytes), cfg.Logger),
		views:        map[ID]*View{},
	}
	l.room = sync.NewCond(&l.mu)
	l.writer = newWriter(l)
	l.compactor = newCompactor(l)
	if err := l.recover(d); err != nil {
		return nil, errors.Join(fmt.Errorf("open log: %w", err), l.chain.close())
	}
	l.spares.start()
	l.wg.Go(l.writer.run)
	l.wg.Go(l.compactor.run)
	wake(l.compactor.wake)
	return l, nil
}

// Create makes a view that is empty, whatever it was before.
func (l *Log) Create(id ID) error {
	v := l.view(id)
	v.writing.Lock()
	defer v.writing.Unlock()
	return v.write(operation{view: v, kind: kindBounds}, func(b []byte) []byte { return appendBounds(b, id, 0, 0) })
}

// Drop removes a view, if there is one.
func (l *Log) Drop(id ID) error {
	v := l.view(id)
	v.writing.Lock()
	defer v.writing.Unlock()
	if !v.exists() {
		return nil
	}
	return v.write(operation{view: v, kind: kindDrop}, func(b []byte) []byte { return appendDrop(b, id) })
}

// View returns a view that was created. All who ask get the same one.
func (l *Log) View(id ID) (*View, error) {
	if v := l.view(id); v.exists() {
		return v, nil
	}
	return nil, fmt.Errorf("%w: it has no part of replica %s", ErrCorrupt, id)
}

// Views lists the views that there are.
func (l *Log) Views() []ID {
	var list []ID
	for _, v := range l.allViews() {
		if v.exists() {
			list = append(list, v.id)
		}
	}
	return list
}

func (l *Log) view(id ID) *View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.views[id]
	if v == nil {
		v = newView(l, id)
		l.views[id] = v
	}
	return v
}

func (l *Log) allViews() []*View {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*View
	for _, v := range l.views {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *View) int { return a.id.compare(b.id) })
	return list
}

// submit hands an operation to the writer and waits until its records are on disk. As
// long as too much is pending it waits before.
func (l *Log) submit(op operation, encode func(b []byte) []byte) error {
	l.mu.Lock()
	for len(l.pending.buf) >= l.limit && !l.closed {
		l.room.Wait()
	}
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.pending.add(op, encode)
	l.mu.Unlock()
	wake(l.writer.wake)
	return <-op.done
}

// takePending returns what is pending, and lets spare take its place.
func (l *Log) takePending(spare batch) batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.pending
	l.pending = spare
	l.room.Broadcast()
	return taken
}

// Close lets what is pending go to disk and closes the files. It may be called again.
func (l *Log) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.room.Broadcast()
		l.mu.Unlock()
		close(l.compactor.quit)
		close(l.writer.quit)
		l.wg.Wait()
		l.closeErr = errors.Join(l.spares.close(), l.chain.close())
	})
	return l.closeErr
}
