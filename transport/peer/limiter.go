package peer

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logInterval is the least time between two log lines of one limiter.
const logInterval = time.Second

// limiter keeps strangers from filling the log: it lets one line pass in
// logInterval and counts the others into the next.
type limiter struct {
	mu      sync.Mutex
	next    time.Time
	skipped int
}

func newLimiter() *limiter { return &limiter{} }

func (l *limiter) log(to *slog.Logger, level slog.Level, message string, args ...any) {
	l.mu.Lock()
	now := time.Now()
	if now.Before(l.next) {
		l.skipped++
		l.mu.Unlock()
		return
	}
	skipped := l.skipped
	l.next, l.skipped = now.Add(logInterval), 0
	l.mu.Unlock()
	if skipped > 0 {
		args = append(args, "more_like_it", skipped)
	}
	to.Log(context.Background(), level, message, args...)
}
