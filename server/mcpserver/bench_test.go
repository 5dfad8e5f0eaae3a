package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

// fixed answers every call with the same text.
type fixed string

func (fixed) Specs() []tool.Spec {
	return []tool.Spec{{Name: "get", Description: "Get.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}}
}

func (f fixed) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{CallID: c.ID, Text: string(f)}, nil
}

// BenchmarkCall measures a call over stdio without work in the tool: the overhead of the server.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 9 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			text, err := json.Marshal(map[string]string{"content": strings.Repeat(strings.Repeat("some text ", 6)+"abc\n", size/64)})
			if err != nil {
				b.Fatal(err)
			}
			s, err := New(Config{Caller: fixed(text), Await: true})
			if err != nil {
				b.Fatal(err)
			}
			in, w := io.Pipe()
			r, out := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- s.Serve(context.Background(), in, out) }()
			lines := bufio.NewReaderSize(r, 1<<20)
			send := func(format string, args ...any) {
				if _, err := fmt.Fprintf(w, format+"\n", args...); err != nil {
					b.Fatal(err)
				}
			}
			receive := func() (n int) {
				for {
					part, err := lines.ReadSlice('\n')
					n += len(part)
					if err == nil {
						return n
					}
					if err != bufio.ErrBufferFull {
						b.Fatal(err)
					}
				}
			}
			send(`%s`, initialize)
			receive()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for i := 2; b.Loop(); i++ {
				send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get","arguments":{"path":"a.txt"}}}`, i)
				if n := receive(); n < len(text) {
					b.Fatal(n)
				}
			}
			w.Close()
			<-served
			s.Close()
		})
	}
}

// BenchmarkAgents measures the memory of a connected agent: its session, its stream for messages of the server, and both ends of
// its connections.
func BenchmarkAgents(b *testing.B) {
	const agents = 500
	for b.Loop() {
		s, err := New(Config{Caller: fixed("{}"), Await: true, HTTP: HTTP{Tokens: []string{tokenA}}})
		if err != nil {
			b.Fatal(err)
		}
		h := httptest.NewServer(s.Handler())
		memory := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapInuse + m.StackInuse
		}
		before := memory()
		var sessions []*mcp.ClientSession
		for range agents {
			transport := &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{tokenA, &http.Transport{}}}}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(b.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revisions[0]})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "get"}); err != nil {
				b.Fatal(err)
			}
			sessions = append(sessions, session)
		}
		b.ReportMetric(float64(memory()-before)/agents/1024, "KB/agent")
		for _, session := range sessions {
			session.Close()
		}
		s.Close()
		h.Close()
	}
}
