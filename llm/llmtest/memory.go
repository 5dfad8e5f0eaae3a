package llmtest

import (
	"context"
	"net"
	"sync"
)

// Memory is an in-memory network with one listener, without sockets. It is for tests with a fake clock, which must be able to observe
// every wait. The zero Memory is ready to use.
type Memory struct {
	once   sync.Once
	conns  chan net.Conn
	closed chan struct{}
	end    sync.Once
}

func (m *Memory) init() {
	m.once.Do(func() { m.conns, m.closed = make(chan net.Conn), make(chan struct{}) })
}

// DialContext connects to the listener, for any address.
func (m *Memory) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	m.init()
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	m.init()
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *Memory) Close() error {
	m.init()
	m.end.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener.
func (m *Memory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "model.test" }
