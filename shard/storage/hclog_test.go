package storage

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestHCLoggerLogsToSlog(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		level slog.Level
		log   func(hclog.Logger)
		want  string // "" for nothing
	}{
		"attributes":    {slog.LevelInfo, func(l hclog.Logger) { l.Info("m", "k", 1) }, "level=INFO msg=m k=1"},
		"level":         {slog.LevelInfo, func(l hclog.Logger) { l.Debug("m") }, ""},
		"trace":         {levelTrace, func(l hclog.Logger) { l.Trace("m") }, "level=DEBUG-4 msg=m"},
		"error":         {slog.LevelError, func(l hclog.Logger) { l.Error("m") }, "level=ERROR msg=m"},
		"warning":       {slog.LevelWarn, func(l hclog.Logger) { l.Warn("m") }, "level=WARN msg=m"},
		"name":          {slog.LevelInfo, func(l hclog.Logger) { l.Named("raft").Named("snap").Info("m") }, "level=INFO msg=m component=raft.snap"},
		"another name":  {slog.LevelInfo, func(l hclog.Logger) { l.Named("raft").ResetNamed("wal").Info("m") }, "level=INFO msg=m component=wal"},
		"with":          {slog.LevelInfo, func(l hclog.Logger) { l.With("a", 1).With("b", 2).Info("m", "c", 3) }, "level=INFO msg=m a=1 b=2 c=3"},
		"format":        {slog.LevelInfo, func(l hclog.Logger) { l.Info("m", "k", hclog.Fmt("%d-%d", 1, 2)) }, "level=INFO msg=m k=1-2"},
		"plain log":     {slog.LevelInfo, func(l hclog.Logger) { l.StandardLogger(nil).Print("m") }, "level=INFO msg=m"},
		"plain writing": {slog.LevelInfo, func(l hclog.Logger) { l.StandardWriter(nil).Write([]byte("m\n")) }, "level=INFO msg=m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			tc.log(HCLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
				Level: tc.level,
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				},
			}))))
			if got := strings.TrimSpace(out.String()); got != tc.want {
				t.Errorf("logged %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHCLoggerLevelIsTheHandlers(t *testing.T) {
	t.Parallel()
	for want, level := range map[hclog.Level]slog.Level{
		hclog.Trace: levelTrace, hclog.Debug: slog.LevelDebug, hclog.Info: slog.LevelInfo,
		hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError, hclog.Off: slog.LevelError + 4,
	} {
		l := HCLogger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: level})))
		l.SetLevel(hclog.Trace)
		if got := l.GetLevel(); got != want {
			t.Errorf("at %v: level = %v, want %v", level, got, want)
		}
		if l.IsInfo() != (want <= hclog.Info) || l.IsError() != (want <= hclog.Error) {
			t.Errorf("at %v: IsInfo = %v, IsError = %v", level, l.IsInfo(), l.IsError())
		}
	}
}
