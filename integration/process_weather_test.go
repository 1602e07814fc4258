package integration

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// weather is what a proxy does to answers.
type weather int32

const (
	fair    weather = iota
	slow            // they come late
	muted           // they do not come, and neither does anything after them
	breaks          // their connection breaks instead
	latency = 300 * time.Millisecond
)

// weatherProxy forwards connections to a node, and does with its answers what the
// weather says.
type weatherProxy struct {
	listener net.Listener
	target   string
	weather  atomic.Int32

	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

func startWeatherProxy(t *testing.T, target string) *weatherProxy {
	t.Helper()
	l, err := net.Listen("tcp", freeAddresses(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	p := &weatherProxy{listener: l, target: target}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *weatherProxy) turn(w weather) { p.weather.Store(int32(w)) }

func (p *weatherProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *weatherProxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.DialTimeout("tcp", p.target, time.Second)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		p.wg.Go(func() { pass(far, near, func() weather { return fair }) })
		p.wg.Go(func() { pass(near, far, func() weather { return weather(p.weather.Load()) }) })
	}
}

// pass copies what comes from one connection to the other, as the weather allows, until
// one of them ends.
func pass(to, from net.Conn, now func() weather) {
	defer to.Close()
	defer from.Close()
	mute := false
	for buffer := make([]byte, 64<<10); ; {
		n, err := from.Read(buffer)
		switch now() {
		case slow:
			<-time.After(latency)
		case muted:
			mute = true // what follows a gap could not be understood
		case breaks:
			return
		}
		if mute && now() != muted {
			return
		}
		if !mute {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// behind returns how to dial the nodes through their proxies.
func behind(proxies map[string]*weatherProxy) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if p := proxies[address]; p != nil {
			address = p.listener.Addr().String()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
}
