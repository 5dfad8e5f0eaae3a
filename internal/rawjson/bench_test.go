package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// conversation returns a body of about size bytes in the form of an agent's request: tools first, then calls and their results,
// mostly code.
func conversation(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var w Writer
	w.Open('{')
	w.Key("model")
	w.String("m")
	w.Key("tools")
	w.Open('[')
	for i := range 20 {
		w.Raw(fmt.Sprintf(`{"name":"tool%d","description":%q,"input_schema":{"type":"object","properties":{"path":{"type":"string","description":"The path of the file"},"limit":{"type":"integer"}},"required":["path"]}}`,
			i, strings.Repeat("Reads a file and shows its lines. ", 20)), "tool")
	}
	w.Close(']')
	w.Key("messages")
	w.Open('[')
	for i := 0; len(w.buf) < size; i++ {
		w.Raw(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"I look at the next file."},{"type":"tool_use","id":"call_%d","name":"Read","input":{"file_path":"/home/me/project/pkg%d/file.go"}}]}`, i, i%50), "call")
		w.Open('{')
		w.Key("role")
		w.String("user")
		w.Key("content")
		w.Open('[')
		w.Open('{')
		w.Key("type")
		w.String("tool_result")
		w.Key("tool_use_id")
		w.String(fmt.Sprintf("call_%d", i))
		w.Key("content")
		w.String(code(r, 20+r.IntN(200)))
		w.Close('}')
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	body, err := w.Bytes()
	if err != nil {
		panic(err)
	}
	return body
}

// code returns lines that look like a program with line numbers.
func code(r *rand.Rand, lines int) string {
	forms := []string{
		"\tif err := store.Append(ctx, event); err != nil {", "\t\treturn fmt.Errorf(\"append %s: %w\", event.ID, err)", "\t}",
		"", "// Append is durable when it returns, and may be called concurrently.", "func (s *Store) Append(ctx context.Context, e Event) error {",
		"\tfor i := range s.subscribers {", "\t\ts.subscribers[i].offer(e)", "}",
	}
	var b strings.Builder
	for n := 1; n <= lines; n++ {
		fmt.Fprintf(&b, "%6d\t%s\n", n, forms[r.IntN(len(forms))])
	}
	return b.String()
}

// hop measures the lower bound: it goes from quote to quote, and looks at nothing else.
func hop(body []byte) (quotes int) {
	for {
		n := bytes.IndexByte(body, '"')
		if n < 0 {
			return quotes
		}
		quotes++
		body = body[n+1:]
	}
}

// results returns the contents of the results in the messages.
func results(body []byte, at []Span) []Span {
	s := New(body)
	for s.Enter('{'); s.Next(); {
		if string(s.Key()) != "messages" {
			s.Skip()
			continue
		}
		for s.Enter('['); s.Next(); {
			for s.Enter('{'); s.Next(); {
				if string(s.Key()) != "content" || s.Kind() != '[' {
					s.Skip()
					continue
				}
				for s.Enter('['); s.Next(); {
					var f [2]Span
					s.Object(partKeys, f[:])
					if Is(body, f[0], "tool_result") && f[1].KindOf(body) == '"' {
						at = append(at, f[1])
					}
				}
			}
		}
	}
	if s.End() != nil {
		return nil
	}
	return at
}

var partKeys = []string{"type", "content"}

var sink int

func BenchmarkBody(b *testing.B) {
	for _, mb := range []int{1, 4} {
		body := conversation(mb << 20)
		if !json.Valid(body) {
			b.Fatal("invalid body")
		}
		spans := make([]Span, 0, 10000)
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%dMB/%s", mb, name), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
		run("hop", func() { sink += hop(body) })
		run("skip", func() {
			s := New(body)
			sink += s.Skip().End
			if s.End() != nil {
				b.Fatal(s.Err())
			}
		})
		run("find", func() { sink += len(results(body, spans[:0])) })
		run("find+patch", func() {
			found := results(body, spans[:0])
			patches := make([]Patch, 0, len(found))
			for i, at := range found {
				if i%5 == 0 {
					patches = append(patches, Patch{at, "[lines 1-200 of file.go: shown again below]"})
				}
			}
			out, err := AppendPatched(nil, body, patches)
			if err != nil {
				b.Fatal(err)
			}
			sink += len(out)
		})
		run("encoding-json", func() {
			var v map[string]any
			if err := json.Unmarshal(body, &v); err != nil {
				b.Fatal(err)
			}
			out, err := json.Marshal(v)
			if err != nil {
				b.Fatal(err)
			}
			sink += len(out)
		})
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	body := conversation(100 << 10)
	spans := make([]Span, 0, 1000)
	if n := testing.AllocsPerRun(10, func() {
		s := New(body)
		s.Skip()
		if len(results(body, spans[:0])) == 0 || s.End() != nil {
			t.Fatal("nothing found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
