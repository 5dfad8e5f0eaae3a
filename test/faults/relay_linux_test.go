package faults

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// relayAddress is the address at which relays listen. The relays between servers also connect from it. It differs from the
// address of the servers, because a NATS server takes the address from which another server connects, and tries to connect to it
// directly. That would bypass the relay.
const relayAddress = "127.0.0.2"

// relay passes bytes between its clients and an address. On request it disturbs that.
type relay struct {
	listener net.Listener
	to       string
	dialer   net.Dialer
	wg       sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	closed  bool
	refused bool          // connections end at once
	held    [2]bool       // bytes wait: those to the address, and those from it
	delay   time.Duration // of bytes in each direction
	ends    map[net.Conn]bool
}

// newRelay starts a relay to the address to. Its connections come from the address from, or from any address if that is "".
func newRelay(t testing.TB, to, from string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", relayAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, to: to, dialer: net.Dialer{Timeout: 5 * time.Second}, ends: map[net.Conn]bool{}}
	if from != "" {
		r.dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	r.changed = sync.NewCond(&r.mu)
	r.wg.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.carry(in) })
	}
}

// carry connects in with the address, until either connection ends.
func (r *relay) carry(in net.Conn) {
	defer in.Close()
	if !r.add(in) {
		return
	}
	defer r.remove(in)
	out, err := r.dialer.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer out.Close()
	if !r.add(out) {
		return
	}
	defer r.remove(out)
	var both sync.WaitGroup
	both.Go(func() { r.pass(in, out, 0) })
	both.Go(func() { r.pass(out, in, 1) })
	both.Wait()
}

// add registers one end of a connection. It returns false if connections are refused.
func (r *relay) add(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.refused {
		return false
	}
	r.ends[c] = true
	return true
}

func (r *relay) remove(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ends, c)
	r.changed.Broadcast()
}

// piece is data that was read, and the time at which it is passed on.
type piece struct {
	data []byte
	due  time.Time
}

// pass passes on the bytes in one direction.
func (r *relay) pass(from, to net.Conn, direction int) {
	defer from.Close()
	defer to.Close()
	pieces := make(chan piece, 64)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer from.Close() // ends the reading goroutine
	reading.Go(func() {
		defer close(pieces)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				r.mu.Lock()
				due := time.Now().Add(r.delay)
				r.mu.Unlock()
				pieces <- piece{data[:n], due}
			}
			if err != nil {
				return
			}
		}
	})
	defer func() { // the reading goroutine may wait for room in the channel
		go func() {
			for range pieces {
			}
		}()
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if !r.wait(to, direction) {
			return
		}
		if _, err := to.Write(p.data); err != nil {
			return
		}
	}
}

// wait waits while bytes are held. It returns false if the connection has ended.
func (r *relay) wait(to net.Conn, direction int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.held[direction] && !r.closed && r.ends[to] {
		r.changed.Wait()
	}
	return !r.closed && r.ends[to]
}

// refuse ends all connections, and every new one.
func (r *relay) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
	r.drop()
}

func (r *relay) drop() {
	for c := range r.ends {
		_ = c.Close()
		delete(r.ends, c)
	}
	r.changed.Broadcast()
}

// hold makes bytes wait: nothing arrives, and nothing fails.
func (r *relay) hold(there, back bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = [2]bool{there, back}
}

func (r *relay) slow(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = delay
}

// heal ends all disturbances.
func (r *relay) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused, r.held, r.delay = false, [2]bool{}, 0
	r.changed.Broadcast()
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.closed = true
	r.drop()
	r.mu.Unlock()
	r.wg.Wait()
}

// balancer is the one address of several servers. It connects each client to the next server that says that it is ready.
type balancer struct {
	listener net.Listener
	targets  []string
	ready    func(n int) bool
	wg       sync.WaitGroup

	mu     sync.Mutex
	next   int
	at     map[net.Conn]int // the server of each connection
	closed bool
}

func newBalancer(t testing.TB, targets []string, ready func(int) bool) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: l, targets: targets, ready: ready, at: map[net.Conn]int{}}
	b.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		b.reset()
		b.wg.Wait()
	})
	return b
}

func (b *balancer) address() string { return b.listener.Addr().String() }

// choose returns the next server that is ready, or -1.
func (b *balancer) choose() int {
	b.mu.Lock()
	begin := b.next
	b.next++
	b.mu.Unlock()
	for i := range b.targets {
		if n := (begin + i) % len(b.targets); b.ready(n) {
			return n
		}
	}
	return -1
}

func (b *balancer) carry(c net.Conn) {
	defer c.Close()
	n := b.choose()
	if n < 0 {
		return
	}
	on, err := net.DialTimeout("tcp", b.targets[n], time.Second)
	if err != nil {
		return
	}
	defer on.Close()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.at[c] = n
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.at, c)
		b.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(on, c); _ = on.Close() })
	both.Go(func() { _, _ = io.Copy(c, on); _ = c.Close() })
	both.Wait()
}

// reset ends all connections. A client that connects again gets the next server.
func (b *balancer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.at {
		_ = c.Close()
	}
}
