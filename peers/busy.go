package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// busy is how busy the machine was: the shares of all processors' time in which they had
// nothing to do, and of which the host gave to others, in percent.
type busy struct{ idle, steal float64 }

// processors is what all processors have spent since the machine started, in ticks.
type processors struct{ all, idle, stolen int64 }

// parseProcessors reads the file /proc/stat.
func parseProcessors(stat string) (p processors, err error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return p, fmt.Errorf("/proc/stat has another form: %q", line)
	}
	for i, text := range fields[1:9] { // user, nice, system, idle, iowait, irq, softirq, steal
		ticks, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return p, fmt.Errorf("/proc/stat has another form: %w", err)
		}
		p.all += ticks
		switch i {
		case 3, 4: // one that waits for a disk has nothing to do, too
			p.idle += ticks
		case 7:
			p.stolen += ticks
		}
	}
	return p, nil
}

// watch looks at the processors now and then. Where they cannot be seen, it knows nothing.
type watch struct{ looks []look }

type look struct {
	at    time.Time
	spent processors
}

func (w *watch) look() {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return
	}
	if spent, err := parseProcessors(string(stat)); err == nil {
		w.looks = append(w.looks, look{time.Now(), spent})
	}
}

// last tells how busy the machine was for so long before the last look; nil is unknown.
func (w *watch) last(d time.Duration) *busy {
	if len(w.looks) < 2 {
		return nil
	}
	end := w.looks[len(w.looks)-1]
	first := w.looks[0]
	for _, l := range w.looks {
		if l.at.After(end.at.Add(-d)) {
			break
		}
		first = l
	}
	all := float64(end.spent.all - first.spent.all)
	if all <= 0 {
		return nil
	}
	return &busy{100 * float64(end.spent.idle-first.spent.idle) / all, 100 * float64(end.spent.stolen-first.spent.stolen) / all}
}
