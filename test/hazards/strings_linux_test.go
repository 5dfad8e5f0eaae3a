package hazards

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/test/webtest"
)

// maxHeld is how much memory the server may use more after these attacks than before them, in bytes.
const maxHeld = 64 << 20

// attacks are what one agent's token can send to make the server hold memory beyond the token's calls.
var attacks = []struct {
	name string
	run  func(s *site, few bool)
}{
	{"255 MCP sessions with a long name of the client", func(s *site, few bool) { s.sessions(255, strings.Repeat("n", 8<<20)) }},
	{"MCP sessions with a short name", func(s *site, few bool) {
		if few {
			s.sessions(3_000, "n")
		} else {
			s.sessions(60_000, "n")
		}
	}},
	{"40 connections with long fields in hello", func(s *site, _ bool) {
		long := strings.Repeat("n", 10<<20)
		for i := range 40 {
			hello := &wire.Hello{Version: wire.Version, Role: wire.Agent, Capabilities: []string{wire.CanResume}}
			switch i % 3 {
			case 0:
				hello.Client = long
			case 1:
				hello.Workspace = long
			default:
				hello.Capabilities = slices.Repeat([]string{"capability"}, 1<<20)
			}
			s.hello(hello)
		}
	}},
	{"1000 connections", func(s *site, _ bool) {
		for range 1000 {
			s.hello(&wire.Hello{Version: wire.Version, Role: wire.Agent, Capabilities: []string{wire.CanResume}})
		}
	}},
	{"20 calls of tools with a long name", func(s *site, _ bool) {
		for i := range 20 {
			k := s.hello(&wire.Hello{Version: wire.Version, Role: wire.Agent})
			if k == nil {
				continue
			}
			name := fmt.Sprint(i, strings.Repeat("n", 3<<20))
			if b, err := wire.Encode(&wire.ToolCall{CallID: fmt.Sprint(i), ToolName: name}); err == nil {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				_ = k.Write(ctx, websocket.MessageText, b.Bytes()) // it may be refused
				_, _, _ = k.Read(ctx)
				cancel()
			}
			_ = k.CloseNow()
		}
	}},
	{"calls of ever new client sessions", func(s *site, few bool) {
		n := 60_000
		if few {
			n = 3_000
		}
		s.parallel(n, func(i int) {
			_, _, _ = s.rest(fmt.Sprintf("%060d", i), "read_file", "workspace=here", args{"path": strings.Repeat("p", 5000)})
		})
	}},
}

// parallel does something n times, eight at once.
func (s *site) parallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	for from := range 8 {
		wg.Go(func() {
			for i := from; i < n; i += 8 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// sessions makes n MCP sessions.
func (s *site) sessions(n int, name string) {
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": args{
		"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": name, "version": "1"},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.parallel(n, func(int) {
		req, err := http.NewRequest("POST", s.base+"/mcp", bytes.NewReader(body))
		if err != nil {
			s.t.Error(err)
			return
		}
		req.Header = http.Header{
			"Authorization": {"Bearer " + s.agent}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		}
		if resp, err := http.DefaultClient.Do(req); err == nil { // else it was refused before all of it was sent
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

// hello opens a connection as an agent. It stays open until the test ends; nil: it was refused.
func (s *site) hello(hello *wire.Hello) *websocket.Conn {
	b, err := wire.Encode(hello)
	if err != nil {
		s.t.Fatal(err)
	}
	c, _ := s.connect(s.agent, b.Bytes())
	return c
}

// connect opens a connection with a first frame, and returns the answer. It stays open until the test ends; nil: it was refused.
func (s *site) connect(token string, first []byte) (*websocket.Conn, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.base, "http")+"/v1/connect",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return nil, nil
	}
	s.t.Cleanup(func() { _ = c.CloseNow() }) // it may be closed
	c.SetReadLimit(64 << 20)
	var answer []byte
	if err = c.Write(ctx, websocket.MessageText, first); err == nil {
		_, answer, err = c.Read(ctx)
	}
	if err != nil {
		return nil, nil
	}
	return c, answer
}

// keeps checks that the server's memory is about as before the attack. The runtime gives memory back a little later.
func (s *site) keeps(before int, attack string) {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		peak, now := memory(s.t, s.cmd)
		late := time.Now().After(end)
		if now <= before+maxHeld || late {
			s.t.Logf("%s: %d MB, %d MB before, at most %d MB", attack, now>>20, before>>20, peak>>20)
		}
		if late {
			s.t.Errorf("%s: the memory grew from %d to %d MB", attack, before>>20, now>>20)
		}
		if now <= before+maxHeld || late {
			return
		}
	}
}

// What one agent's token sends beside its calls takes little memory: names, sessions, connections, and what is recorded of them.
// With STET_SOAK=1 the attacks are repeated for ten minutes, and the memory stays flat. (FILE-10, FILE-11)
func TestOneTokenTakesLittleMemory(t *testing.T) {
	s := newWorld(t).site("--rate", "100")
	_, before := memory(t, s.cmd)
	end := time.Now().Add(10 * time.Minute)
	for round := 0; round == 0 || soak() && time.Now().Before(end); round++ {
		for _, a := range attacks {
			a.run(s, !soak() || round > 0)
			s.keeps(before, a.name)
		}
	}
	page, err := webtest.Enter(t.Context(), http.DefaultClient, s.base, s.person)
	if err != nil {
		t.Fatal(err)
	}
	res, err := page.Do(t.Context(), "GET", "/api/audit?last=50000", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	trail, err := io.ReadAll(res.Body)
	if t.Logf("the audit trail's page has %d KB", len(trail)>>10); err != nil || !soak() && len(trail) > 8<<20 {
		t.Errorf("the audit trail's page has %d bytes: %v", len(trail), err)
	}
	bounded(t, "stet serve", s.cmd)
}
