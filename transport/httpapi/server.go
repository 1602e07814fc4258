package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/defaults"
	"github.com/ringraft/ringraft/op"
)

// Node is what the front needs of the node that it stands before.
type Node interface {
	// Do serves a request wherever in the cluster that can be done, and returns the
	// answer, which the caller owns. It sees to it that a write happens once; one of
	// unknown outcome may still happen.
	Do(ctx context.Context, req op.Request) op.Result
	// Group returns the group that owns slot.
	Group(slot uint16) uint64
	// Cluster returns the cluster's id, "" before it has formed.
	Cluster() string
}

// Config says how a [Server] works. All but Listener and Node may be zero.
type Config struct {
	Listener net.Listener // the server closes it
	Node     Node
	Logger   *slog.Logger // nil: slog.Default

	// Origins are the web origins, as https://example.org, whose pages may use the
	// server; "*" is all of them. Without, browsers keep pages of others out.
	Origins []string

	MaxConns    int   // at a time; a further one is told so and closed. 0: 4,096
	MaxRequests int   // being served at a time; a further one is answered 429. 0: 1,024
	MaxBody     int64 // bytes of a request's body; a longer one is answered 413. 0: 32 MiB
	// MaxBodies is how many bytes of bodies may be in memory at a time; a request for
	// whose body there is no room is answered 429. 0: 256 MiB.
	MaxBodies int64

	RequestTimeout time.Duration // for the cluster's answer. 0: 5 s
	HeaderTimeout  time.Duration // from a request's first byte to the end of its headers. 0: 10 s
	BodyTimeout    time.Duration // from there to the end of its body. 0: 30 s
	WriteTimeout   time.Duration // for an answer to leave. 0: 30 s
	IdleTimeout    time.Duration // without a request. 0: 2 minutes
}

func (cfg Config) withDefaults() (Config, error) {
	if cfg.Listener == nil || cfg.Node == nil {
		return cfg, errors.New("http server: Listener and Node must be set")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return cfg, errors.Join(
		defaults.Set("MaxConns", &cfg.MaxConns, 4096),
		defaults.Set("MaxRequests", &cfg.MaxRequests, 1024),
		defaults.Set("MaxBody", &cfg.MaxBody, 32<<20),
		defaults.Set("MaxBodies", &cfg.MaxBodies, 256<<20),
		defaults.Set("RequestTimeout", &cfg.RequestTimeout, 5*time.Second),
		defaults.Set("HeaderTimeout", &cfg.HeaderTimeout, 10*time.Second),
		defaults.Set("BodyTimeout", &cfg.BodyTimeout, 30*time.Second),
		defaults.Set("WriteTimeout", &cfg.WriteTimeout, 30*time.Second),
		defaults.Set("IdleTimeout", &cfg.IdleTimeout, 2*time.Minute),
	)
}

// maxHeader bounds a request's line and headers, in bytes: a key of op.MaxKey bytes,
// each percent-encoded, and a session token of a thousand groups.
const maxHeader = 64 << 10

// Server serves HTTP/1.1 on a listener.
type Server struct {
	cfg       Config
	http      *http.Server
	resources []resource
	openapi   []byte
	origins   *origins
	bodies    budget
	flights   flights
	slots     chan struct{} // held by each request that is being served

	finish sync.Once
}

// NewServer returns a server that does nothing until Serve is called.
func NewServer(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, resources: resources(), slots: make(chan struct{}, cfg.MaxRequests)}
	s.flights.marks = map[digest]digest{}
	s.bodies.left.Store(cfg.MaxBodies)
	s.openapi = describe(s.resources)
	if s.origins, err = newOrigins(cfg.Origins); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           s,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: cfg.HeaderTimeout,
		ReadTimeout:       cfg.HeaderTimeout + cfg.BodyTimeout,
		WriteTimeout:      cfg.BodyTimeout + cfg.RequestTimeout + cfg.WriteTimeout, // counts from the end of the headers
		IdleTimeout:       cfg.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug), // of what clients do
	}
	return s, nil
}

// Serve accepts connections. It returns nil after Shutdown or Close, or the error with
// which the listener failed.
func (s *Server) Serve() error {
	err := s.http.Serve(&crowdedListener{Listener: s.cfg.Listener, max: int64(s.cfg.MaxConns)})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("accept connections: %w", err)
}

// Shutdown stops accepting connections, lets the requests that were taken be answered,
// and closes the connections. When ctx ends first it cuts off what is left and returns
// ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	return errors.Join(s.http.Shutdown(ctx), s.Close())
}

// Close closes the listener and all connections, and waits until no request is being
// served. It may be called again.
func (s *Server) Close() error {
	err := s.http.Close()
	s.finish.Do(func() {
		for range cap(s.slots) {
			s.slots <- struct{}{}
		}
	})
	return err
}
