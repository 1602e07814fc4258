package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	room      = 32 << 20 // bytes of the file that entries are written to, again and again
	maxBehind = 8        // entries that a follower may not have yet when the next one is sent
)

// serve is what one of the three processes does.
func (s settings) serve(out io.Writer) error {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	d, err := newDisk(s.dir)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go follow(conn, d, s.bytes)
		}
	}()
	var did work
	if s.node < s.leaders {
		if did, err = s.lead(d); err != nil {
			return err
		}
	}
	if _, err = fmt.Fprintln(out, did.entries, did.seconds); err != nil {
		return err
	}
	select {} // others may not have measured to the end yet
}

// work is what a leader has done in the time that is measured.
type work struct {
	entries int64
	seconds float64
}

// lead replicates entries: one when the others are there, those of the warm-up, and those
// that count, which is one at least.
func (s settings) lead(d *disk) (did work, err error) {
	var conns []net.Conn
	stored := make(chan int, 3*maxBehind) // by whom: a follower's number, or here
	for i, address := range strings.Split(s.peers, ",") {
		if i == s.node {
			continue
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return did, err
		}
		number := len(conns)
		conns = append(conns, conn)
		go func() {
			answers := make([]byte, maxBehind)
			for {
				n, err := conn.Read(answers)
				if err != nil {
					os.Exit(1) // another process has ended
				}
				for range n {
					stored <- number
				}
			}
		}()
	}
	const here = nodes - 1
	entry := make([]byte, s.bytes)
	var sent, have [nodes]int
	replicate := func() error {
		for i, conn := range conns {
			if _, err := conn.Write(entry); err != nil {
				return err
			}
			sent[i]++
		}
		sent[here]++
		go d.store(entry, func() { stored <- here })
		for have[here] < sent[here] || max(have[0], have[1]) < sent[0] || min(have[0], have[1]) < sent[0]-maxBehind {
			have[<-stored]++
		}
		return nil
	}
	during := func(d time.Duration) (did work, err error) {
		for begin := time.Now(); err == nil && did.seconds < d.Seconds(); did.seconds = time.Since(begin).Seconds() {
			err = replicate()
			did.entries++
		}
		return did, err
	}
	if err := replicate(); err != nil {
		return did, err
	}
	if _, err := during(s.warmup); err != nil {
		return did, err
	}
	return during(s.duration)
}

// follow stores what a leader sends, and answers each entry with a byte.
func follow(conn net.Conn, d *disk, size int) {
	for {
		entry := make([]byte, size)
		if _, err := io.ReadFull(conn, entry); err != nil {
			return // the leader has ended
		}
		d.store(entry, func() { _, _ = conn.Write([]byte{1}) }) // so it has
	}
}

// disk is a process's file, which is as long as it will be from the start, and written to.
type disk struct {
	file *os.File

	mu      sync.Mutex
	waiting []write
	busy    bool
	offset  int64
}

type write struct {
	entry []byte
	done  func()
}

func newDisk(dir string) (*disk, error) {
	f, err := os.CreateTemp(dir, "bare")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	if _, err := f.Write(make([]byte, room)); err != nil {
		return nil, err
	}
	return &disk{file: f}, f.Sync()
}

// store writes and syncs an entry, with all that others give meanwhile, and calls done.
func (d *disk) store(entry []byte, done func()) {
	d.mu.Lock()
	d.waiting = append(d.waiting, write{entry, done})
	if d.busy {
		d.mu.Unlock()
		return
	}
	d.busy = true
	for len(d.waiting) > 0 {
		list := d.waiting
		d.waiting = nil
		d.mu.Unlock()
		d.write(list)
		d.mu.Lock()
	}
	d.busy = false
	d.mu.Unlock()
}

func (d *disk) write(list []write) {
	bytes := list[0].entry
	for _, w := range list[1:] {
		bytes = append(bytes[:len(bytes):len(bytes)], w.entry...)
	}
	if d.offset+int64(len(bytes)) > room {
		d.offset = 0
	}
	_, err := d.file.WriteAt(bytes, d.offset)
	if err == nil {
		err = syncData(d.file)
	}
	if err != nil {
		panic(err) // a disk that fails is nothing to measure
	}
	d.offset += int64(len(bytes))
	for _, w := range list {
		w.done()
	}
}
