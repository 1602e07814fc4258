package main

import "log/slog"

// logger returns the log on standard error.
func (con *console) logger(level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: least}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(con.err, opts))
	}
	return slog.New(slog.NewTextHandler(con.err, opts))
}

// warnInsecure says at every start what --insecure means.
func warnInsecure(log *slog.Logger, cfg serverConfig) {
	if cfg.insecure {
		log.Warn("running with --insecure: no encryption, no authentication; whoever reaches the ports owns the data",
			"native", cfg.native, "peer", cfg.peer, "resp", cfg.resp, "http", cfg.http)
	}
}
