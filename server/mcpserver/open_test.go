package mcpserver

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A token that begins more sessions than it may ends the one that it has not used for longest. Its sessions take no memory of other
// tokens, and no more goroutines than those that are open. (FILE-10)
func TestSessionsOfAToken(t *testing.T) {
	var mu sync.Mutex
	over := 0
	s := newServer(t, Config{Caller: newNotes().handler, HTTP: HTTP{Tokens: []string{tokenA, tokenB}}, End: func(string) {
		mu.Lock()
		defer mu.Unlock()
		over++
	}})
	url := listen(t, s)
	other := httpClient(t, url, tokenB, "2025-11-25", nil)
	streams := httpClient(t, url, tokenA, "2025-11-25", nil)
	call(t, streams, "read_note", map[string]any{"path": "a"})
	initialize := func(token, name string) (status int, id string) {
		status, _, head, err := post(url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
			`"clientInfo":{"name":"`+name+`","version":"1"}}}`, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
		if err != nil {
			t.Fatal(err)
		}
		return status, head.Get(sessionHeader)
	}
	_, first := initialize(tokenA, "first")
	before := runtime.NumGoroutine()
	for i := range 2 * maxSessions {
		if status, id := initialize(tokenA, fmt.Sprint(i)); status != http.StatusOK || id == "" {
			t.Fatalf("session %d: %d", i, status)
		}
	}
	open := 0
	for range s.mcp.Sessions() {
		open++
	}
	if now := runtime.NumGoroutine(); open > maxSessions+1 || now > before+8*maxSessions {
		t.Errorf("%d sessions are open, with %d goroutines", open, now-before)
	}
	for range 20 {
		if status, id := initialize(tokenA, strings.Repeat("n", 1<<20)); status != http.StatusRequestEntityTooLarge || id != "" {
			t.Fatalf("a long name: %d", status)
		}
		if status, id := initialize(tokenA, strings.Repeat("n", 257)); status != http.StatusRequestEntityTooLarge || id != "" {
			t.Fatalf("a name of 257 bytes: %d", status)
		}
	}
	if status, text, _, err := post(url, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, func(r *http.Request) { r.Header.Set(sessionHeader, first) }); status != http.StatusNotFound {
		t.Errorf("the session that was not used for longest: %d %s %v", status, text, err)
	}
	for _, c := range []*mcp.ClientSession{other, streams} {
		call(t, c, "read_note", map[string]any{"path": "a"})
	}
	s.Close()
	if mu.Lock(); over < maxSessions || len(s.open.of) != 0 {
		t.Errorf("%d sessions have ended, %d tokens have sessions", over, len(s.open.of))
	}
	mu.Unlock()
}
