package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/ringraft/ringraft/internal/defaults"
	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

// Handler answers requests. It may be a [Looker], too.
type Handler interface {
	// Serve takes a request and must not block; the answer may be given later and
	// from any goroutine, and must be given once. A connection's requests come one
	// by one in the order they were sent; those of several come at once. The memory that
	// req refers to is the handler's and is not written again. Small requests share
	// a block of up to 16 KiB, so what is kept for long is better copied.
	Serve(req op.Request, reply op.Replier)
}

// ServerConfig says how a [Server] works. All but Listener and Handler may be zero.
type ServerConfig struct {
	Listener net.Listener // the server closes it
	Handler  Handler
	Logger   *slog.Logger // nil: slog.Default

	// MaxConns is the most connections at a time; another one is told so and
	// closed. 0: 4,096.
	MaxConns int
	// MaxPending is how many requests of one connection may be unanswered before
	// nothing more is read from it. It is read again when half are answered. 0: 1,024.
	MaxPending int
	// MaxUnsent is how many bytes of replies may wait for a client before nothing
	// more is read from it. It is read again when half are sent. Requests taken
	// before may add replies up to 16 times this; from there on they are answered
	// with a short error instead. 0: 4 MiB.
	MaxUnsent int

	IdleTimeout  time.Duration // without a request, all being answered, or a part in 32 longer; 0: 10 minutes
	FrameTimeout time.Duration // from the first to the last byte of a frame; 0: 30 s
	WriteTimeout time.Duration // for a write of which nothing leaves; 0: 10 s
	// DrainTimeout is how long a connection that ends waits for the answers to the
	// requests it has taken. 0: 10 s.
	DrainTimeout time.Duration
}

// withDefaults returns the configuration with its zeros filled in, or what is wrong.
func (cfg ServerConfig) withDefaults() (ServerConfig, error) {
	if cfg.Listener == nil || cfg.Handler == nil {
		return cfg, errors.New("transport server: Listener and Handler must be set")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return cfg, errors.Join(
		defaults.Set("MaxConns", &cfg.MaxConns, 4096),
		defaults.Set("MaxPending", &cfg.MaxPending, 1024),
		defaults.Set("MaxUnsent", &cfg.MaxUnsent, 4<<20),
		defaults.Set("IdleTimeout", &cfg.IdleTimeout, 10*time.Minute),
		defaults.Set("FrameTimeout", &cfg.FrameTimeout, 30*time.Second),
		defaults.Set("WriteTimeout", &cfg.WriteTimeout, 10*time.Second),
		defaults.Set("DrainTimeout", &cfg.DrainTimeout, 10*time.Second),
	)
}

// Server accepts connections and hands their requests to a handler. Each costs two
// goroutines; a request costs none.
type Server struct{ accept stream.Acceptor }

// NewServer returns a server that does nothing until Serve is called.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Server{stream.Acceptor{
		Listener: cfg.Listener, MaxConns: cfg.MaxConns, Logger: cfg.Logger,
		New: func(conn net.Conn) stream.Served { return newServerConn(&cfg, conn) },
		Refuse: func(conn net.Conn, count int) {
			res := op.Fail(op.Unavailable("there are %d connections already; the limit is %d", count, cfg.MaxConns))
			// A client that is gone has no use for the reason.
			_, _ = conn.Write(appendResult(nil, kindGoodbye, 0, &res))
		},
	}}, nil
}

// Serve accepts connections. It returns nil after Shutdown or Close, or the error
// with which the listener failed; connections are served on until then.
func (s *Server) Serve() error { return s.accept.Serve() }

// Shutdown stops accepting connections and reading requests, answers the requests
// already taken, says goodbye and closes the connections. When ctx ends first it
// gives those still unanswered a second for their goodbye and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error { return s.accept.Shutdown(ctx) }

// Close closes the listener and all connections, and waits until their goroutines
// have ended. Unanswered requests are left unanswered. It may be called again.
func (s *Server) Close() error { return s.accept.Close() }
