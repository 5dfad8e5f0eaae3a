package clients

import (
	"net"
	"sync"
	"testing"
)

// line is a TCP proxy whose connections can be cut.
type line struct {
	listener net.Listener
	to       string
	wg       sync.WaitGroup

	mu     sync.Mutex
	held   bool // new connections are cut at once
	open   map[*pair]bool
	closed bool
}

// pair is a connection with both of its ends.
type pair struct {
	ends   [2]net.Conn
	frozen chan struct{} // closed: no more bytes are passed on
}

func newLine(t testing.TB, to string) *line {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{listener: listener, to: to, open: map[*pair]bool{}}
	l.wg.Go(l.serve)
	return l
}

func (l *line) address() string { return l.listener.Addr().String() }

func (l *line) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		w := &pair{[2]net.Conn{near, far}, make(chan struct{})}
		l.mu.Lock()
		if l.held || l.closed {
			w.cut()
		} else {
			l.open[w] = true
			l.wg.Go(func() { l.pass(w, near, far) })
			l.wg.Go(func() { l.pass(w, far, near) })
		}
		l.mu.Unlock()
	}
}

// pass copies bytes until one of the ends is closed.
func (l *line) pass(w *pair, to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-w.frozen:
			if err == nil {
				continue // the bytes are lost without an error
			}
		default:
			if _, failed := to.Write(buf[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			break
		}
	}
	l.mu.Lock()
	delete(l.open, w)
	l.mu.Unlock()
	w.cut()
}

// cut resets both ends.
func (w *pair) cut() {
	for _, c := range w.ends {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// cut resets all connections.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.open {
		w.cut()
	}
}

// hold cuts all connections and lets no new ones through. With false it lets new ones through again.
func (l *line) hold(held bool) {
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	if held {
		l.cut()
	}
}

// freeze stops passing bytes over the existing connections, which stay open.
func (l *line) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.open {
		close(w.frozen)
	}
}

func (l *line) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	_ = l.listener.Close()
	l.cut()
	l.wg.Wait()
}
