package gateway

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// A frame of any size and in any three pieces arrives unchanged while pings are sent.
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
		for c.ping(ctx) == nil { // the reader below receives the pongs
		}
	}()
	for _, n := range []int{0, 1, 7, 60, 120, 126, 130, 4000, 16_000, 16_400, 65_400, 65_536, 70_000, 300_001} {
		text := []byte(`{"type":"cancel","call_id":"1"` + strings.Repeat(" ", n) + `}`)
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
