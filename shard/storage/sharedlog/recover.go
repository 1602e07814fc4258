package sharedlog

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// found is a file of the log.
type found struct {
	number uint32
	size   int64 // bytes
	file   file  // nil once another owns it
	header segmentHeader
	headed bool // it has a header of its own; if not, nothing of it counts

	buf []byte // holds the flush that was read last
}

// recover reads the log: it builds chain and views, and removes what a crash has left
// of files that were not in use.
func (l *Log) recover(d disk) error {
	all, err := findSegments(d)
	defer func() {
		for _, f := range all { // those that the chain has not taken over
			if f.file != nil {
				f.file.Close()
			}
		}
	}()
	if err != nil {
		return err
	}
	used, err := linked(all)
	if err != nil {
		return err
	}
	if err := l.replay(used); err != nil {
		return err
	}
	return l.spares.adopt(all)
}

// findSegments opens the files of the log, in the order of their numbers.
func findSegments(d disk) ([]*found, error) {
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	var all []*found
	for _, name := range names {
		if strings.HasSuffix(name, tmpEnd) {
			if err := d.remove(name); err != nil {
				return all, err
			}
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(name, ".seg"), 10, 32)
		if err != nil || n == 0 || segmentName(uint32(n)) != name {
			continue // not ours
		}
		f := &found{number: uint32(n)}
		all = append(all, f)
		if err := f.open(d, name); err != nil {
			return all, err
		}
	}
	slices.SortFunc(all, func(a, b *found) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

// open looks at the file and its header.
func (f *found) open(d disk, name string) (err error) {
	if f.file, err = d.open(name); err != nil {
		return err
	}
	if f.size, err = f.file.size(); err != nil {
		return err
	}
	head := make([]byte, segmentHead)
	if n, err := f.file.ReadAt(head, 0); err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", name, err)
	} else {
		head = head[:n]
	}
	f.header, f.headed, err = decodeSegmentHeader(head, f.number)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if f.headed && f.size < int64(f.header.size) {
		return fmt.Errorf("%w: %s has %d bytes of %d", ErrCorrupt, name, f.size, f.header.size)
	}
	return nil
}

// linked returns the segments that are in use: those that the newest header leads back
// to, as far as the log has not given them up.
func linked(all []*found) ([]*found, error) {
	at := lastHeaded(all)
	if at < 0 {
		return nil, checkUnused(all, 0)
	}
	newest := all[at]
	oldest, end, err := newest.survey()
	if err == nil {
		err = checkUnused(all[at+1:], end.flush)
	}
	if err != nil {
		return nil, err
	}
	used := []*found{newest}
	for f := newest; f.number > oldest; {
		if f.header.prev < oldest {
			break
		}
		prev := find(all, f.header.prev)
		if prev == nil || !prev.headed {
			return nil, fmt.Errorf("%w: %s, which is needed, is missing or was overwritten", ErrCorrupt, segmentName(f.header.prev))
		}
		used, f = append(used, prev), prev
	}
	slices.Reverse(used)
	if used[0].number != oldest {
		return nil, fmt.Errorf("%w: %s, which is needed, is missing", ErrCorrupt, segmentName(oldest))
	}
	return used, nil
}

func lastHeaded(all []*found) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].headed {
			return i
		}
	}
	return -1
}

func find(all []*found, number uint32) *found {
	i := slices.IndexFunc(all, func(f *found) bool { return f.number == number })
	if i < 0 {
		return nil
	}
	return all[i]
}

// survey reads the newest segment: it returns the first segment that is needed, and how
// far the log goes.
func (f *found) survey() (oldest uint32, end reach, err error) {
	oldest = f.header.oldest
	end, err = f.scan(0, func(r placed) error {
		if r.kind == kindRelease {
			oldest = min(max(oldest, r.oldest), f.number)
		}
		return nil
	})
	if err == nil {
		err = f.checkBehind(end.end, end.flush)
	}
	return oldest, end, err
}

// checkUnused refuses files that are not as they are before their first use.
func checkUnused(files []*found, flush uint64) error {
	for _, f := range files {
		if err := f.checkBehind(0, flush); err != nil {
			return err
		}
	}
	return nil
}

// checkBehind refuses a log that does not end where it seems to, with a flush of that
// number: a flush is only written once the one before is on disk, so there may be parts
// of one more, but none of a later one.
func (f *found) checkBehind(end int64, flush uint64) error {
	at, err := f.findFlush(end, flush+2)
	if err != nil || at == 0 {
		return err
	}
	return fmt.Errorf("%w: %s at %d, before what stands at %d", ErrCorrupt, segmentName(f.number), end, at)
}
