package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// The connections and sessions of a token hold a limited number of bytes. Those of another token have their own, and room comes back when
// a connection ends. A hello has a size of its own. (FILE-10)
func TestConnectionsOfAToken(t *testing.T) {
	h, _ := newHub(t, Config{})
	url := serveHub(t, h)
	var open []connection
	for refused := false; !refused && len(open) < 1000; {
		c, err := Dial{URL: url, Token: "agent-a"}.dial(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r := &raw{t, c}
		r.send(&wire.Hello{Version: wire.Version, Role: wire.Agent, Capabilities: []string{wire.CanResume}})
		e, is := r.next().(*wire.Error)
		if refused = is; is && e.Code != string(tool.RateLimited) {
			t.Errorf("%+v", e)
		}
		open = append(open, c)
	}
	if len(open) < 100 || len(open) > 8<<20/connectionBytes {
		t.Errorf("%d connections", len(open))
	}
	other := dialRaw(t, url, "agent-b")
	other.hello(wire.Hello{Role: wire.Agent})
	for _, c := range open {
		c.close(websocket.StatusNormalClosure, "bye")
	}
	for {
		c, err := Dial{URL: url, Token: "agent-a"}.dial(ctx)
		if err != nil {
			continue // the hub has not seen yet that the others are closed
		}
		b, err := wire.Encode(&wire.Hello{Version: wire.Version, Role: wire.Agent, Client: strings.Repeat("n", 10<<20)})
		if err == nil {
			err = c.write(b)
		}
		if _, closed := c.read(); closed == nil || err == nil && websocket.CloseStatus(closed) != websocket.StatusMessageTooBig {
			t.Errorf("a long hello: %v, %v", err, closed)
		}
		c.abort()
		break
	}
	for _, hello := range []wire.Hello{
		{Client: strings.Repeat("n", 257)}, {Workspace: "../w"}, {Workspace: strings.Repeat("w", 65)}, {Capabilities: make([]string, 1001)},
	} {
		hello.Version, hello.Role = wire.Version, wire.Agent
		r := dialRaw(t, url, "agent-a")
		r.send(&hello)
		if e := want[*wire.Error](r); e.Code != wire.Malformed {
			t.Errorf("%.100s: %+v", fmt.Sprint(hello), e)
		}
	}
}
