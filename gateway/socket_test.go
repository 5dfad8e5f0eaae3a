package gateway

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// A frame arrives as it was, of any size and in any three pieces, while pings go
// out beside it.
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
	go func() {
		for c.ping(ctx) == nil { // what is read below takes the pongs
		}
	}()
	for _, n := range []int{0, 1, 7, 60, 120, 126, 130, 4000, 16_000, 16_400, 65_400, 65_536, 70_000, 300_001} {
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
	c.close(websocket.StatusNormalClosure, "bye")
}

// What is written of a message goes out at once, in order, and a fault is told at
// the end at the latest.
func TestTap(t *testing.T) {
	out := new(writes)
	tap := &tap{w: out}
	write := func(size int) error {
		n, err := tap.Write(bytes.Repeat([]byte{'x'}, size))
		if err == nil && n != size {
			t.Errorf("%d bytes of %d are said to be written", n, size)
		}
		return err
	}
	for _, c := range []struct {
		pieces []int
		want   []int
	}{
		{[]int{1, 2, 3}, []int{6}},
		{[]int{4096, 4096, 100}, []int{8292}},
		{[]int{10, maxCopied + 1, 5}, []int{10, maxCopied + 1, 5}},
		{[]int{4096, 4096, 900}, []int{8192, 900}},
		{nil, nil},
	} {
		out.sizes = nil
		tap.hold(make([]byte, 0, 9000))
		for _, n := range c.pieces {
			if err := write(n); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tap.release(); err != nil || !slices.Equal(out.sizes, c.want) {
			t.Errorf("%v: %v, %v", c.pieces, out.sizes, err)
		}
	}
	out.fail = io.ErrClosedPipe
	tap.hold(make([]byte, 0, 10))
	if err := write(1); err != nil {
		t.Error(err)
	}
	if _, err := tap.release(); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if err := write(1); !errors.Is(err, io.ErrClosedPipe) {
		t.Error("without hold:", err)
	}
}

// writes notes how much is written at once.
type writes struct {
	sizes []int
	fail  error
}

func (w *writes) Write(b []byte) (int, error) {
	if w.fail != nil {
		return 0, w.fail
	}
	w.sizes = append(w.sizes, len(b))
	return len(b), nil
}
