package others

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/replay"
)

// toolRun passes calls with results to a planner. tool returns which results are cut in the request after the call.
type toolRun struct {
	t       *testing.T
	planner replay.Planner
	n       int
}

func newToolRun(t *testing.T, begin replay.Policy) *toolRun {
	count := func(p *llm.Part) int { return len(p.Name) + len(p.Args) + len(p.Text) }
	return &toolRun{t: t, planner: begin(replay.Setting{Fixed: 1000, Count: count})}
}

func (r *toolRun) user() {
	r.planner.Add(&llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "go on"}}})
}

func (r *toolRun) tool(name, args string, size int) string {
	r.n++
	id := fmt.Sprint("c", r.n)
	r.planner.Add(&llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: name, Args: args}}})
	r.planner.Add(&llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: strings.Repeat("x\n", size/2)}}})
	return r.cuts()
}

// cuts returns the numbers of the cut results.
func (r *toolRun) cuts() string {
	var out []string
	last := -1
	for _, c := range r.planner.Plan().Omissions {
		if c.Message <= last {
			r.t.Errorf("cuts out of order: %v", c)
		}
		last = c.Message
		out = append(out, fmt.Sprint((c.Message+1)/2))
	}
	return strings.Join(out, " ")
}

func (r *toolRun) want(got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("after %d results: cut %q, want %q", r.n, got, want)
	}
}

func TestLastResults(t *testing.T) {
	r := newToolRun(t, LastResults(2))
	for _, want := range []string{"", "", "1", "1 2", "1 2 3"} {
		r.want(r.tool("bash", `{"command":"make"}`, 100), want)
	}
}

// When a request has more than 10,000 tokens, 1,000 of them fixed, all results except the newest two leave. After that the count
// begins with what is left.
func TestClearPast(t *testing.T) {
	r := newToolRun(t, ClearPast(10_000, 2, 0))
	for _, want := range []string{"", "", "", "1 2", "1 2", "1 2 3 4", "1 2 3 4"} {
		r.want(r.tool("bash", `{}`, 2500), want)
	}
	least := newToolRun(t, ClearPast(10_000, 2, 6000))
	for _, want := range []string{"", "", "", "", "1 2 3", "1 2 3", "1 2 3", "1 2 3 4 5 6"} {
		least.want(least.tool("bash", `{}`, 2500), want)
	}
}

// A read is outdated if its lines, or the whole file, are read again. It leaves when there are enough outdated bytes.
func TestOutdatedReads(t *testing.T) {
	whole, part := `{"file_path":"/home/me/a.go"}`, `{"file_path":"/home/me/a.go","offset":5,"limit":9}`
	r := newToolRun(t, OutdatedReads(2000))
	r.want(r.tool("Read", whole, 1200), "")
	r.want(r.tool("Read", part, 900), "")
	r.want(r.tool("Read", `{"file_path":"/home/me/b.go"}`, 5000), "")
	r.want(r.tool("Read", part, 900), "") // 2 is outdated: 900 bytes
	r.want(r.tool("bash", `{"command":"make"}`, 9000), "")
	r.want(r.tool("Read", whole, 1200), "1 2 4")
}

func TestPruneTurns(t *testing.T) {
	r := newToolRun(t, PruneTurns(2000, 1000))
	turn := func() {
		r.planner.Add(&llm.Message{Role: llm.System}) // keeps the numbers of messages even
		r.user()
	}
	turn()
	for range 5 {
		r.want(r.tool("bash", `{}`, 800), "")
	}
	turn() // the last two turns stay, and there is only one
	r.want(r.cuts(), "")
	turn()
	r.want(r.cuts(), "")
	turn() // 5 and 4 are the newest 1,600 bytes of three turns ago; with 3 they are over 2,000
	r.want(r.cuts(), "2 3 4")
}

func TestMaskOld(t *testing.T) {
	r := newToolRun(t, MaskOld(2000, 2500))
	for _, want := range []string{"", "", "", "", "", "", "1 2 3 4"} {
		// the last result is never counted; the third from the end is the first above 2,000
		r.want(r.tool("fetch", `{}`, 800), want)
	}
	long := strings.Repeat("line\n", 30)
	if m := masked(long, true); strings.Count(m, "line") != 19 || !strings.Contains(m, "…") {
		t.Errorf("%q", m)
	}
	if m := masked(strings.Repeat("é", 400), false); !strings.HasPrefix(m, "éé") || len(m) > 600 || strings.ToValidUTF8(m, "") != m {
		t.Errorf("%q", m)
	}
	if m := masked("short", false); m != "short" {
		t.Errorf("%q", m)
	}
}

func TestSameCalls(t *testing.T) {
	r := newToolRun(t, SameCalls("plan"))
	r.want(r.tool("grep", `{"b":1,"a":"x","c":null}`, 100), "")
	r.want(r.tool("plan", `{}`, 100), "")
	r.want(r.tool("grep", `{"a":"x","b":2}`, 100), "")
	r.want(r.tool("grep", `{ "a":"x", "b":1 }`, 100), "1")
	r.want(r.tool("plan", `{}`, 100), "1")
	r.want(r.tool("Write", `{"file_path":"/a","content":"x"}`, 100), "1")
	r.want(r.tool("Write", `{"file_path":"/a","content":"x"}`, 100), "1")
	r.want(r.tool("grep", `not json`, 100), "1")
	r.want(r.tool("grep", `not json`, 100), "1 8")
}
