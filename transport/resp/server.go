package resp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/internal/defaults"
	"github.com/ringraft/ringraft/internal/stream"
)

// ServerConfig says how a [Server] works. All but Listener and Node may be zero.
type ServerConfig struct {
	Listener net.Listener // the server closes it
	Node     Node
	Logger   *slog.Logger // nil: slog.Default
	Version  string       // of the program, for INFO

	// MaxConns is the most connections at a time; another one is told so and closed.
	// 0: 4,096.
	MaxConns int
	// MaxPending is how many commands of one connection may be unanswered before
	// nothing more is read from it. 0: 1,024.
	MaxPending int
	// MaxUnsent is how many bytes of replies may wait for a client before nothing more
	// is read from it. One answer may have more. 0: 4 MiB.
	MaxUnsent int
	// MaxAnswer is how many bytes the keys and values of one answer may have; a longer one
	// is refused, for the most part before it is read. 0: 64 MiB.
	MaxAnswer int

	IdleTimeout    time.Duration // without a command, or a part in 32 longer; 0: 10 minutes
	RequestTimeout time.Duration // from the first to the last byte of a command; 0: 30 s
	WriteTimeout   time.Duration // for a write of which nothing leaves; 0: 10 s
	CommandTimeout time.Duration // for carrying out a command; 0: 5 s
	// DrainTimeout is how long a connection that ends waits for its answers. 0: 10 s.
	DrainTimeout time.Duration
}

// withDefaults returns the configuration with its zeros filled in, or what is wrong.
func (cfg ServerConfig) withDefaults() (ServerConfig, error) {
	if cfg.Listener == nil || cfg.Node == nil {
		return cfg, errors.New("resp server: Listener and Node must be set")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return cfg, errors.Join(
		defaults.Set("MaxConns", &cfg.MaxConns, 4096),
		defaults.Set("MaxPending", &cfg.MaxPending, 1024),
		defaults.Set("MaxUnsent", &cfg.MaxUnsent, 4<<20),
		defaults.Set("MaxAnswer", &cfg.MaxAnswer, 64<<20),
		defaults.Set("IdleTimeout", &cfg.IdleTimeout, 10*time.Minute),
		defaults.Set("RequestTimeout", &cfg.RequestTimeout, 30*time.Second),
		defaults.Set("WriteTimeout", &cfg.WriteTimeout, 10*time.Second),
		defaults.Set("CommandTimeout", &cfg.CommandTimeout, 5*time.Second),
		defaults.Set("DrainTimeout", &cfg.DrainTimeout, 10*time.Second),
	)
}

// Server accepts connections of Redis clients and carries their commands out. Each
// costs two goroutines.
type Server struct {
	cfg      ServerConfig
	commands map[string]*command
	scripts  *scripts
	accept   stream.Acceptor
	started  time.Time

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	viewing sync.Mutex // held while the nodes are asked; what follows is of the last time
	viewed  time.Time  // zero before the first
	view    view
	viewErr error

	lastID  atomic.Int64 // of a connection
	taken   atomic.Int64 // connections since the start
	handled atomic.Int64 // commands since the start, or since CONFIG RESETSTAT
}

// NewServer returns a server that does nothing until Serve is called.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, commands: commandTable(), scripts: newScripts(), started: time.Now()}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.accept.Listener, s.accept.MaxConns, s.accept.Logger = cfg.Listener, cfg.MaxConns, cfg.Logger
	s.accept.New = func(conn net.Conn) stream.Served { return newConn(s, conn) }
	s.accept.Refuse = func(conn net.Conn, _ int) {
		// A client that is gone has no use for the reason.
		_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n"))
	}
	return s, nil
}

// Serve accepts connections. It returns nil after Shutdown or Close, or the error
// with which the listener failed; connections are served on until then.
func (s *Server) Serve() error { return s.accept.Serve() }

// Shutdown stops accepting connections and reading commands, answers those already
// taken and closes the connections. When ctx ends first it closes what is left and
// returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	return errors.Join(s.accept.Shutdown(ctx), s.Close())
}

// Close closes the listener and all connections, and waits until all goroutines have
// ended. Unanswered commands are left unanswered. It may be called again.
func (s *Server) Close() error {
	s.stop()
	return s.accept.Close()
}

// conns returns the connections that are there now.
func (s *Server) conns() []*conn {
	var list []*conn
	for _, c := range s.accept.Open() {
		list = append(list, c.(*conn))
	}
	return list
}
