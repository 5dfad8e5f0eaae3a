package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stet-dev/stet/tool"
)

// fixed answers every call with one text.
type fixed string

func (fixed) Specs() []tool.Spec {
	return []tool.Spec{{Name: "get", Description: "Get.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}}
}

func (f fixed) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{CallID: c.ID, Text: string(f)}, nil
}

// A call over stdio with nothing behind it: what the server adds.
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
