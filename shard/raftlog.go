package shard

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"

	"github.com/ringraft/ringraft/shard/storage"
)

// raftLogger is the log of a Raft instance. Raft reports an unreachable peer as an
// error many times a second, and every election in a dozen lines; a replica tells of
// what matters itself. So all that Raft says is for debugging.
func raftLogger(l *slog.Logger) hclog.Logger {
	return storage.HCLogger(slog.New(debugHandler{l.Handler()}))
}

// debugHandler hands every record on at level debug.
type debugHandler struct{ slog.Handler }

func (h debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

func (h debugHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, r)
}

func (h debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{h.Handler.WithAttrs(attrs)}
}

func (h debugHandler) WithGroup(name string) slog.Handler {
	return debugHandler{h.Handler.WithGroup(name)}
}
