package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/tool"
)

// exchange sends all lines to a server at once, and returns its answers.
func exchange(t testing.TB, s *Server, lines ...string) []string {
	t.Helper()
	r, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(context.Background(), strings.NewReader(strings.Join(lines, "\n")), out)
		out.Close()
	}()
	var answers []string
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		answers = append(answers, strings.TrimSuffix(line, "\n"))
	}
	<-served
	return answers
}

// A line that is not JSON gets an error, and the session continues.
func TestLines(t *testing.T) {
	n := newNotes()
	n.notes["a"] = "x"
	s := newServer(t, Config{Caller: n.handler})
	const get = `"method":"tools/call","params":{"name":"read_note","arguments":{"path":"a"}}}`
	answers := exchange(t, s,
		initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`nonsense`, "", "  \t", `{"jsonrpc":"2.0","id":2,`,
		`{"jsonrpc":"2.0","id":"two ö \u00e9",`+get,
		`{"jsonrpc":"2.0","id":3,`+get+"\r",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nothing"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":7}`,
		`{"jsonrpc":"2.0","id":6,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,`+get, // without a newline at the end
	)
	got := map[string]string{}
	broken := 0
	for _, a := range answers {
		var m struct {
			ID     any
			Result struct{ Content []struct{ Text string } }
			Error  struct{ Code int }
		}
		if err := json.Unmarshal([]byte(a), &m); err != nil {
			t.Fatalf("%v: %s", err, a)
		}
		switch {
		case m.Error.Code == -32700:
			broken++
		case m.Error.Code != 0:
			got[fmt.Sprint(m.ID)] = "error"
		case len(m.Result.Content) == 1:
			got[fmt.Sprint(m.ID)] = m.Result.Content[0].Text
		default:
			got[fmt.Sprint(m.ID)] = "ok"
		}
	}
	want := map[string]string{
		"1": "ok", "two ö é": `{"content":"x","success":true}`, "3": `{"content":"x","success":true}`,
		"4": "error", "5": "error", "6": "ok", "7": `{"content":"x","success":true}`,
	}
	for id, text := range want {
		if got[id] != text {
			t.Errorf("%s: %q, not %q", id, got[id], text)
		}
	}
	if len(got) != len(want) || broken != 2 {
		t.Errorf("%d broken, answers %q", broken, answers)
	}
}

// barrierCaller is a caller whose calls end when a given number of them run at the same time.
type barrierCaller struct {
	fixed
	all sync.WaitGroup
}

func (m *barrierCaller) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	m.all.Done()
	m.all.Wait()
	return m.fixed.Call(ctx, c)
}

// A call does not block other calls: these calls wait for each other.
func TestCallsAtOnce(t *testing.T) {
	const calls = 20
	m := &barrierCaller{fixed: "done"}
	m.all.Add(calls)
	lines := []string{initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	for i := range calls {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"get","arguments":{}}}`, i))
	}
	all := strings.Join(exchange(t, newServer(t, Config{Caller: m}), lines...), "\n")
	for i := range calls {
		if n := strings.Count(all, fmt.Sprintf(`"id":"c%d",`, i)); n != 1 {
			t.Errorf("call %d has %d answers", i, n)
		}
	}
	if n := strings.Count(all, `"text":"done"`); n != calls {
		t.Errorf("%d calls are done", n)
	}
}

// Two calls at the same time have the same id. One is executed, the other is refused. Later calls work.
func TestSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newManualClient(t, &recordingCaller{fixed: "done"})
		k.get(7, "hang")
		waitIdle()
		k.get(7, "")
		if line := k.read(); !strings.Contains(line, `"id":null,"error"`) {
			t.Errorf("the second one: %s", line)
		}
		k.get(8, "")
		k.answered(8, 1)
		k.in.Close()
		if err := <-k.served; err != nil {
			t.Error(err)
		}
	})
}

// A line that is longer than MaxMessage is skipped, and the session continues.
func TestLongLine(t *testing.T) {
	s := newServer(t, Config{Caller: newNotes().handler, MaxMessage: 1 << 10})
	for _, long := range []int{1 << 11, 1 << 18} {
		answers := exchange(t, s, initialize, `{"x":"`+strings.Repeat("x", long)+`"}`, `{"jsonrpc":"2.0","id":6,"method":"ping"}`)
		if all := strings.Join(answers, "\n"); len(answers) != 3 || !strings.Contains(all, "-32600") || !strings.Contains(all, `"id":6`) {
			t.Errorf("%q", answers)
		}
	}
}

// JSON that is not a message gets an error, and the session continues.
func TestNoMessage(t *testing.T) {
	s := newServer(t, Config{Caller: newNotes().handler})
	for line, id := range map[string]string{
		`null`: "null", `5`: "null", `"x"`: "null", `[]`: "null", `[1]`: "null", `{}`: "null",
		`{"jsonrpc":"1.0","id":9,"method":"ping"}`: "9", `{"jsonrpc":"2.0","id":{},"method":"ping"}`: "null",
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: "null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`: "null",
		`{"jsonrpc":"2.0","id":"a","method":7}`: `"a"`, `{"jsonrpc":"2.0","id":3,"error":7}`: "3", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`: "9007199254740993",
		`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`: "4",
		`{"jsonrpc":"2.0","id":8}`: "8",
	} {
		answers := exchange(t, s, initialize, line, `{"jsonrpc":"2.0","id":6,"method":"ping"}`)
		if len(answers) != 3 {
			t.Errorf("%s: %q", line, answers)
			continue
		}
		if all := strings.Join(answers, "\n"); !strings.Contains(all, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600`) || !strings.Contains(all, `"id":6`) {
			t.Errorf("%s: %q", line, answers)
		}
	}
}

// No line crashes the server, and every answer is a line of JSON.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"a"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_note","_meta":{"progressToken":[]}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_note","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":null}`, `[{}]`, `7`, `{"method":"notifications/cancelled","params":{"requestId":2}}`,
	} {
		f.Add(s)
	}
	n := newNotes()
	s, err := New(Config{Caller: n.handler, Await: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "write_note") || strings.Contains(line, "hang") || strings.Contains(line, "listen") {
			t.Skip("these wait")
		}
		for _, a := range exchange(t, s, initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, line) {
			if !json.Valid([]byte(a)) {
				t.Errorf("%q", a)
			}
		}
	})
}

// A request that is too long gets an answer with its id. The id may be at any position of the request.
func TestLongRequest(t *testing.T) {
	s := newServer(t, Config{Caller: newNotes().handler, MaxMessage: 1 << 10})
	long := `"params":{"id":8,"x":["` + strings.Repeat(`{\"id\":9,\\`, 20_000) + `"]}`
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call",` + long + `}`:      `7`,
		`{"method":"tools/call",` + long + `,"jsonrpc":"2.0","id":"a"}`:    `"a"`,
		`{"jsonrpc":"2.0","method":"x", "id" : "\u00e9\"}" ,` + long + `}`: `"\u00e9\"}"`,
		`{"jsonrpc":"2.0","id":7,"result":{},` + long + `}`:                `null`, // it is a response, so it expects no answer
		`{"jsonrpc":"2.0","method":"notifications/x",` + long + `}`:        `null`,
		`{"id":{"a":1},"method":"x",` + long + `}`:                         `null`,
		`{"id":"` + strings.Repeat("i", 5000) + `","method":"x"}`:          `null`,
		`{"id":"\q","method":"x",` + long + `}`:                            `null`,
		`[{"id":7,"method":"x",` + long + `}]`:                             `null`,
	} {
		answers := exchange(t, s, initialize, line, `{"jsonrpc":"2.0","id":6,"method":"ping"}`)
		all := strings.Join(answers, "\n")
		if len(answers) != 3 || !strings.Contains(all, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600`) || !strings.Contains(all, `"id":6,"result"`) {
			t.Errorf("%.60s: %q", line, answers)
		}
	}
}
