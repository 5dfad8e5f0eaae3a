package gateway

import (
	"bytes"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// What is written past the library the library reads, of any size and in any three
// pieces, masked and not.
func TestFramesOnTheWire(t *testing.T) {
	hub, _ := newHub(t, Config{})
	url := serveHub(t, hub)
	c, err := Dial{URL: url, Token: "agent-a"}.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.abort)
	r := &raw{t, c}
	r.hello(wire.Hello{Role: wire.Agent})
	sizes := []int{0, 1, 7, 60, 120, 126, 130, 4000, 16_000, 65_400, 65_536, 70_000, 300_001}
	for _, n := range sizes {
		// The hub reads what is masked, and answers what it does not understand.
		text := []byte(`{"type":"cancel","call_id":"1","reason":"` + string(bytes.Repeat([]byte("x"), n)) + `"}`)
		a := rand.IntN(len(text))
		b := a + rand.IntN(len(text)-a)
		if err := c.write(wire.Encoded{Head: text[:a], Body: text[a:b], Tail: text[b:]}); err != nil {
			t.Fatal(err)
		}
		if e := want[*wire.Error](r); e.Message != "cancel: no such call is under way" {
			t.Errorf("%d bytes: %+v", n, e)
		}
	}
	for _, masked := range []bool{false, true} {
		for _, n := range sizes {
			here, there := net.Pipe()
			text := bytes.Repeat([]byte("0123456789abcdefg"), n/17+1)
			a := rand.IntN(len(text))
			b := a + rand.IntN(len(text)-a)
			go func() {
				p := &pen{w: there, mask: masked}
				_ = p.frame(wire.Encoded{Head: text[:a], Body: text[a:b], Tail: text[b:]}) // what comes is looked at
				_ = there.Close()
			}()
			if got := unframed(t, here); !bytes.Equal(got, text) {
				t.Errorf("masked %v: %d bytes are other ones", masked, len(text))
			}
		}
	}
	c.close(websocket.StatusNormalClosure, "bye")
}

// unframed is what a frame holds that comes from a connection. (RFC 6455, 5.2)
func unframed(t *testing.T, c net.Conn) []byte {
	t.Helper()
	var all bytes.Buffer
	if _, err := all.ReadFrom(c); err != nil {
		t.Fatal(err)
	}
	b := all.Bytes()
	if b[0] != 0x81 {
		t.Fatalf("%x", b[0])
	}
	size, at := int(b[1]&0x7f), 2
	if wide := map[int]int{126: 2, 127: 8}[size]; wide > 0 {
		size, at = 0, 2+wide
		for _, d := range b[2:at] {
			size = size<<8 | int(d)
		}
	}
	var key [4]byte
	if b[1]&0x80 != 0 {
		at += copy(key[:], b[at:])
	}
	if len(b)-at != size {
		t.Fatalf("%d bytes follow, it says %d", len(b)-at, size)
	}
	for i := range b[at:] {
		b[at+i] ^= key[i%4]
	}
	return b[at:]
}

// A buffer comes back only when what was in it is surely written: the other side may
// say that it has a frame that is still being written.
func TestPadsAreNotUsedTooEarly(t *testing.T) {
	body := bytes.Repeat([]byte("a"), smallPad)
	for _, early := range []bool{true, false} {
		o := newOutbox(1 << 20)
		o.pads = new(pads)
		o.reset(true)
		if err := o.put(wire.Encoded{Head: []byte("h"), Body: body}, false); err != nil {
			t.Fatal(err)
		}
		if !o.claim() {
			t.Fatal("somebody writes")
		}
		f, _, err := o.take()
		if err != nil || &f.Body[0] == &body[0] {
			t.Fatal("it is not copied", err)
		}
		if !early {
			if f, _, err := o.take(); err != nil || f.Head != nil {
				t.Fatal(f, err)
			}
		}
		if err := o.has(1); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if b := o.pads.get(smallPad); early && &b[:1][0] == &f.Body[0] {
				t.Fatal("it is used while it is written")
			}
		}
	}
}
