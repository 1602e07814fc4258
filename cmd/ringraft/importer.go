package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/media"
	"github.com/ringraft/ringraft/op"
)

const (
	importLanes    = 8                      // batches in flight
	importQueue    = 256                    // lines that wait per lane
	importBatch    = 128                    // pairs of a batch
	importBytes    = 512 << 10              // values of a batch, in bytes, before no further pair is added
	importAttempts = 8                      // at a batch, before the import stops
	importPause    = 250 * time.Millisecond // after the first attempt; it grows with each
)

// setter is what an importer needs of a client.
type setter interface {
	SetMany(ctx context.Context, pairs []client.Pair, opts ...client.WriteOption) ([]client.Result, error)
	Resolve(ctx context.Context, ticket client.Ticket) (client.Resolution, error)
}

// importer puts pairs, many at a time. A key's lines all take the same lane, one
// after another, so that its last line wins.
type importer struct {
	to     setter
	skip   int64 // lines
	report func(line int64, err error)
	lanes  [importLanes]chan numberedPair

	mu     sync.Mutex // guards the rest, and report
	done   watermark
	stored int64
	failed int64
}

type numberedPair struct {
	pair
	line int64 // from 1
}

func newImporter(to setter, skip int64, report func(line int64, err error)) *importer {
	im := &importer{to: to, skip: skip, report: report, done: newWatermark(skip)}
	for i := range im.lanes {
		im.lanes[i] = make(chan numberedPair, importQueue)
	}
	return im
}

func (im *importer) counts() importCounts {
	im.mu.Lock()
	defer im.mu.Unlock()
	return importCounts{Lines: im.done.reached, Stored: im.stored, Failed: im.failed}
}

// run imports the lines of r until its end, or until ctx ends or the cluster cannot
// be written to, whose error it returns. Lines that fail by themselves are reported.
func (im *importer) run(ctx context.Context, r io.Reader) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- im.read(ctx, r) }() // a read of r that blocks outlasts ctx
	var wg sync.WaitGroup
	for _, lane := range im.lanes {
		wg.Go(func() {
			if err := im.drain(ctx, lane); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return <-ended
}

// read parses the lines, hands them to the lanes, and closes those at the end.
func (im *importer) read(ctx context.Context, r io.Reader) error {
	defer func() {
		for _, lane := range im.lanes {
			close(lane)
		}
	}()
	seed := maphash.MakeSeed()
	in := bufio.NewReaderSize(r, 64<<10)
	for line := int64(1); ; line++ {
		text, err := readLine(in, maxLine)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("reading line %d: %w", line, err)
		case line <= im.skip:
			continue
		case len(text) == 0 && err == nil:
			im.settle(line, nil)
			continue
		}
		p := numberedPair{line: line}
		if err == nil {
			p.pair, err = parsePair(text)
		}
		if err != nil {
			im.settle(line, err)
			continue
		}
		select {
		case im.lanes[maphash.String(seed, p.key)%importLanes] <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain puts what comes along the lane, in batches of pairs with the same TTL, until
// the lane is closed or ctx ends.
func (im *importer) drain(ctx context.Context, lane <-chan numberedPair) error {
	var held *numberedPair // taken from the lane, but of another TTL
	for {
		var batch []numberedPair
		batch, held = gather(ctx, lane, held)
		if len(batch) == 0 {
			return nil
		}
		if err := im.put(ctx, batch); err != nil {
			return err
		}
	}
}

// gather returns the next batch: first if it is there, and what waits, at least one
// pair; none once the lane is closed and empty, or ctx has ended. next is a pair that
// belongs to the batch after it.
func gather(ctx context.Context, lane <-chan numberedPair, first *numberedPair) (batch []numberedPair, next *numberedPair) {
	if first == nil {
		select {
		case p, ok := <-lane:
			if !ok {
				return nil, nil
			}
			first = &p
		case <-ctx.Done():
			return nil, nil
		}
	}
	batch = []numberedPair{*first}
	for size := len(first.value); len(batch) < importBatch && size < importBytes; {
		select {
		case p, ok := <-lane:
			if !ok {
				return batch, nil
			}
			if p.ttl != first.ttl {
				return batch, &p
			}
			batch = append(batch, p)
			size += len(p.value)
		default:
			return batch, nil
		}
	}
	return batch, nil
}

// put stores the batch and settles its lines. What the cluster could not do for now
// is tried again, but not what it may yet do: that could come after later lines.
func (im *importer) put(ctx context.Context, batch []numberedPair) error {
	for attempt := 1; ; attempt++ {
		left, err := im.putOnce(ctx, batch)
		if len(left) == 0 {
			return nil
		}
		if attempt == importAttempts || open(err) || !pause(ctx, time.Duration(attempt)*importPause) {
			return err
		}
		batch = left
	}
}

// open reports whether err is of a write that may yet be done: its session can tell.
func open(err error) bool {
	var unknown *client.UnknownOutcomeError
	return errors.As(err, &unknown) && !errors.Is(err, client.ErrSessionEnded)
}

// putOnce stores the batch and settles the lines that are stored or refused. It
// returns the others, with the last reason.
func (im *importer) putOnce(ctx context.Context, batch []numberedPair) (left []numberedPair, reason error) {
	results, err := im.set(ctx, batch)
	known := map[error]error{}
	for i, p := range batch {
		lineErr := err
		if i < len(results) {
			lineErr = results[i].Err
		}
		if open(lineErr) {
			lineErr = im.askAgain(ctx, lineErr, known)
		}
		switch {
		case lineErr == nil:
			im.settle(p.line, nil)
			im.countStored()
		case !errors.Is(lineErr, op.ErrRefused):
			left = append(left, p)
			if !open(reason) {
				reason = lineErr
			}
		case len(batch) == 1:
			im.settle(p.line, lineErr)
		default: // one pair's fault refuses all of an operation: find out whose it is
			alone, aloneErr := im.putOnce(ctx, batch[i:i+1])
			if len(alone) > 0 {
				left, reason = append(left, p), aloneErr
			}
		}
	}
	return left, reason
}

// askAgain returns what became of the write that err leaves open, which lines share.
func (im *importer) askAgain(ctx context.Context, err error, known map[error]error) error {
	if outcome, asked := known[err]; asked {
		return outcome
	}
	var unknown *client.UnknownOutcomeError
	errors.As(err, &unknown)
	outcome := err
	for attempt := range importAttempts {
		if !open(outcome) || !pause(ctx, time.Duration(attempt)*importPause) {
			break
		}
		_, outcome = im.to.Resolve(ctx, unknown.Ticket)
	}
	known[err] = outcome
	return outcome
}

// set puts the batch, and beside it the media types that come with values.
func (im *importer) set(ctx context.Context, batch []numberedPair) ([]client.Result, error) {
	pairs := make([]client.Pair, len(batch))
	for i, p := range batch {
		pairs[i] = client.Pair{Key: p.key, Value: p.value}
	}
	for _, p := range batch {
		if p.mediaType != "" {
			pairs = append(pairs, client.Pair{
				Key: string(media.Key([]byte(p.key))), Value: media.Record(p.mediaType, p.value),
			})
		}
	}
	var opts []client.WriteOption
	if ttl := batch[0].ttl; ttl > 0 {
		opts = append(opts, client.WithTTL(ttl))
	}
	results, err := im.to.SetMany(ctx, pairs, opts...)
	return withTypes(batch, results), err
}

// withTypes returns the results of the batch's pairs. One whose media type was not put is
// as one that was not put itself.
func withTypes(batch []numberedPair, results []client.Result) []client.Result {
	if len(results) < len(batch) {
		return results
	}
	types := results[len(batch):]
	for i, p := range batch {
		if p.mediaType == "" || len(types) == 0 {
			continue
		}
		if results[i].Err == nil {
			results[i].Err = types[0].Err
		}
		types = types[1:]
	}
	return results[:len(batch)]
}

// settle notes that the line is done, and why it failed if it did.
func (im *importer) settle(line int64, err error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.done.mark(line)
	if err != nil {
		im.failed++
		im.report(line, err)
	}
}

func (im *importer) countStored() {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.stored++
}

// watermark knows up to which line all are done, while lines get done in any order.
type watermark struct {
	reached int64
	ahead   map[int64]struct{} // done, but after one that is not
}

func newWatermark(reached int64) watermark {
	return watermark{reached: reached, ahead: make(map[int64]struct{})}
}

func (w *watermark) mark(line int64) {
	w.ahead[line] = struct{}{}
	for {
		if _, ok := w.ahead[w.reached+1]; !ok {
			return
		}
		w.reached++
		delete(w.ahead, w.reached)
	}
}
