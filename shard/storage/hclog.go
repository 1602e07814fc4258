package storage

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// levelTrace stands below slog's lowest, as hclog's does.
const levelTrace = slog.LevelDebug - 4

// HCLogger lets libraries that log through hclog log to l, which alone decides the
// level. Their names become the attribute "component".
func HCLogger(l *slog.Logger) hclog.Logger { return hcLogger{base: l} }

type hcLogger struct {
	base *slog.Logger
	name string
	args []any // of With
}

func (l hcLogger) Log(level hclog.Level, msg string, args ...any) {
	to := slogLevel(level)
	if !l.enabled(to) {
		return
	}
	all := make([]any, 0, 2+len(l.args)+len(args))
	if l.name != "" {
		all = append(all, "component", l.name)
	}
	all = append(append(all, l.args...), args...)
	for i, v := range all {
		if f, ok := v.(hclog.Format); ok && len(f) > 0 {
			all[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
	}
	l.base.Log(context.Background(), to, msg, all...)
}

func (l hcLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l hcLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l hcLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l hcLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l hcLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l hcLogger) IsTrace() bool { return l.enabled(levelTrace) }
func (l hcLogger) IsDebug() bool { return l.enabled(slog.LevelDebug) }
func (l hcLogger) IsInfo() bool  { return l.enabled(slog.LevelInfo) }
func (l hcLogger) IsWarn() bool  { return l.enabled(slog.LevelWarn) }
func (l hcLogger) IsError() bool { return l.enabled(slog.LevelError) }

func (l hcLogger) enabled(level slog.Level) bool {
	return l.base.Enabled(context.Background(), level)
}

func (l hcLogger) Name() string       { return l.name }
func (l hcLogger) ImpliedArgs() []any { return l.args }

func (l hcLogger) With(args ...any) hclog.Logger {
	l.args = append(l.args[:len(l.args):len(l.args)], args...)
	return l
}

func (l hcLogger) Named(name string) hclog.Logger {
	if l.name != "" {
		name = l.name + "." + name
	}
	return l.ResetNamed(name)
}

func (l hcLogger) ResetNamed(name string) hclog.Logger {
	l.name = name
	return l
}

// SetLevel does nothing: the level is the slog handler's.
func (l hcLogger) SetLevel(hclog.Level) {}

// GetLevel returns the lowest level that is logged.
func (l hcLogger) GetLevel() hclog.Level {
	for level := hclog.Trace; level <= hclog.Error; level++ {
		if l.enabled(slogLevel(level)) {
			return level
		}
	}
	return hclog.Off
}

func (l hcLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.base.Handler(), slog.LevelInfo)
}

func (l hcLogger) StandardWriter(opts *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(opts).Writer()
}

func slogLevel(level hclog.Level) slog.Level {
	switch level {
	case hclog.Trace:
		return levelTrace
	case hclog.Debug:
		return slog.LevelDebug
	case hclog.Warn:
		return slog.LevelWarn
	case hclog.Error:
		return slog.LevelError
	}
	return slog.LevelInfo
}
