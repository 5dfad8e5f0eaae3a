package nats

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stet-dev/stet/server/gateway"
)

// After a lease had ended and was renewed, no message is taken before the address was claimed again: another process may own it.
func TestNotBeforeReclaimed(t *testing.T) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	b, err := Open(t.Context(), Config{Server: s})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.stop() // ends keepLease: this test renews the lease
	b.running.Wait()
	b.ctx = t.Context()
	if _, err := b.Own("workspace/w", func(gateway.Message) {}, nil); err != nil {
		t.Fatal(err)
	}
	o := b.owned["workspace/w"]
	answer := func() string {
		t.Helper()
		m := nats.NewMsg(o.owner.subject())
		m.Header.Set(fromHeader, "x")
		a, err := b.conn.RequestMsg(m, patience)
		if err != nil {
			t.Fatal(err)
		}
		return a.Header.Get(errorHeader)
	}
	renew := func() {
		t.Helper()
		if _, err := b.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.mu.Lock()
		b.until = b.until.Add(time.Hour) // the test may be slow
		b.mu.Unlock()
	}
	renew()
	if why := answer(); why != "" {
		t.Errorf("refused under a lease that goes on: %s", why)
	}
	b.mu.Lock()
	b.until = time.Now() // the lease ends
	b.mu.Unlock()
	renew()
	if why := answer(); why != notOwner {
		t.Errorf("before the address is claimed again: %q", why)
	}
	if b.putHere("workspace/w", gateway.Message{}) {
		t.Error("taken from this process before the address is claimed again")
	}
	b.regain(o)
	renew()
	if why := answer(); why != "" {
		t.Errorf("refused after the address was claimed again: %s", why)
	}
}

// Pieces of an incomplete message are dropped after a time, or at once if there are too many.
func TestKeepPieces(t *testing.T) {
	begin := time.Now()
	o := &owned{pieces: map[string]pieces{}}
	for i := range backlog + 1 {
		o.keep(fmt.Sprint(i), []byte("a"), begin.Add(time.Duration(i)))
	}
	if _, first := o.pieces["0"]; first || len(o.pieces) != backlog {
		t.Errorf("%d are kept, the oldest: %v", len(o.pieces), first)
	}
	later := begin.Add(capacityTime + time.Second)
	o.keep("1", []byte("b"), later)
	o.keep("new", []byte("a"), later)
	if len(o.pieces) != 2 || string(o.pieces["1"].body) != "ab" {
		t.Errorf("%d are kept, one of them %q", len(o.pieces), o.pieces["1"].body)
	}
}

// A lost answer does not make an owner silent that has answered a later message.
func TestAnswerLost(t *testing.T) {
	b, o := &Bus{heard: map[string]answering{}}, owner{Token: "t"}
	begin := time.Now()
	b.missed(o, begin)
	if !b.heard["t"].silent.After(begin) {
		t.Error("an owner that never answered is not silent")
	}
	b.heard["t"] = answering{last: begin.Add(time.Second)}
	b.missed(o, begin)
	if !b.heard["t"].silent.IsZero() {
		t.Error("an owner that answered later is silent")
	}
}
