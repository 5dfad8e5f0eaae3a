package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

func readAll(t *testing.T, lines ...string) []*Session {
	t.Helper()
	all, err := Opener{}.read("x.jsonl", strings.NewReader(strings.Join(lines, "\n")), 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// BILL-1: an id alone is no key, because gateways reuse ids. With the id of the request it is.
func TestAnswerKeys(t *testing.T) {
	user := `{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"q"}}`
	answer := func(id, request, second, usage string) [16]byte {
		all := readAll(t, user, `{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"s","requestId":"`+request+`","timestamp":"2026-01-02T03:04:`+second+
			`Z","message":{"id":"`+id+`","role":"assistant","model":"m","content":"a","usage":{"input_tokens":`+usage+`,"output_tokens":1}}}`)
		if len(all[0].Answers) != 1 {
			t.Fatalf("%+v", all[0].Answers)
		}
		return all[0].Answers[0].Key
	}
	for _, c := range []struct {
		a, b [4]string
		same bool
	}{
		{[4]string{"1", "r", "06", "5"}, [4]string{"1", "r", "07", "6"}, true},
		{[4]string{"1", "r", "06", "5"}, [4]string{"1", "q", "06", "5"}, false},
		{[4]string{"1", "", "06", "5"}, [4]string{"1", "", "06", "5"}, true},
		{[4]string{"1", "", "06", "5"}, [4]string{"1", "", "07", "5"}, false},
		{[4]string{"1", "", "06", "5"}, [4]string{"1", "", "06", "6"}, false},
		{[4]string{"", "", "06", "5"}, [4]string{"", "", "06", "5"}, true},
	} {
		if same := answer(c.a[0], c.a[1], c.a[2], c.a[3]) == answer(c.b[0], c.b[1], c.b[2], c.b[3]); same != c.same {
			t.Errorf("%v and %v: the same is %v", c.a, c.b, same)
		}
	}
}

// BILL-2: a priority tier of the Messages API is capacity that was bought before. Its answers count by the usual prices, as in the proxy.
func TestPriorityTier(t *testing.T) {
	all := readAll(t, `{"type":"assistant","uuid":"a","parentUuid":null,"sessionId":"s","requestId":"r","message":{"id":"m","role":"assistant",`+
		`"model":"m","content":"a","usage":{"input_tokens":1,"service_tier":"priority"}}}`)
	if tier := all[0].Answers[0].Usage.Tier; tier != "" {
		t.Errorf("the tier is %q", tier)
	}
}

// BILL-2: every member of usage is read, and one that no reader knows is named.
func TestUsageMembers(t *testing.T) {
	all := readAll(t,
		`{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"q"}}`,
		`{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"s","requestId":"r","message":{"id":"m","role":"assistant","model":"m","content":"a","usage":{`+
			`"input_tokens":1.0,"output_tokens":"2","cache_read_input_tokens":3,"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_1h_input_tokens":4,"ephemeral_9h_input_tokens":7},`+
			`"server_tool_use":{"web_search_requests":5,"web_fetch_requests":6,"dream_requests":8},"speed":"fast","service_tier":"batch","inference_geo":"us","nap_tokens":9,"zero_tokens":0,`+
			`"iterations":[{"type":"compaction","input_tokens":10,"output_tokens":20},{"type":"message","input_tokens":1,"output_tokens":2}]}}}`)
	want := `{Input:11 CacheRead:3 CacheWrite:4 CacheWrite1h:4 Output:22 Reasoning:0 WebSearches:5 Speed:fast Region:us Tier:batch}`
	if got := usageText(all[0].Answers[0].Usage); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	unknown := map[string]int{
		"claude-code-jsonl: nap_tokens": 1, "claude-code-jsonl: server_tool_use.dream_requests": 1,
		"claude-code-jsonl: cache_creation.ephemeral_9h_input_tokens": 1,
	}
	if !reflect.DeepEqual(all[0].UnknownUsage, unknown) {
		t.Errorf("unknown: %v", all[0].UnknownUsage)
	}
}

// BILL-2: snapshots with one uuid, an answer outside of the tree, and answers of Copilot whose model only the sums name, in an event that is there
// twice.
func TestOddAnswers(t *testing.T) {
	claude := func(ids, usage string) string {
		return `{"type":"assistant",` + ids + `"sessionId":"s","requestId":"r","message":{"id":"m","role":"assistant","model":"m","content":"a","usage":{` + usage + `}}}`
	}
	user := `{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"q"}}`
	copilot := func(kind, id, data string) string {
		return `{"type":"` + kind + `","id":"` + id + `","timestamp":"2026-01-02T03:04:05Z","data":{` + data + `}}`
	}
	sums := copilot("session.shutdown", "3", `"modelMetrics":{"n":{"usage":{"inputTokens":1}},"m":{"usage":{"inputTokens":5,"outputTokens":7}}}`)
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{user, claude(`"uuid":"a","parentUuid":"u",`, `"output_tokens":1`), claude(`"uuid":"a","parentUuid":"u",`, `"output_tokens":9`)}, "m 0 9\n"},
		{[]string{user, claude("", `"input_tokens":3,"output_tokens":9`)}, "m 3 9\n"},
		{[]string{
			copilot("session.start", "1", `"selectedModel":"auto"`), copilot("user.message", "2", `"content":"q"`),
			copilot("assistant.message", "4", `"messageId":"4","content":"a"`), sums, sums,
		}, "m 5 7\nn 1 0\n"},
		{[]string{
			codexHead, `{"type":"turn_context","payload":{"model":"m"}}`, `{"type":"event_msg","payload":{"type":"token_count","info":null}}`,
			`{"type":"event_msg","payload":{"type":"token_count","input_tokens":9,"cached_input_tokens":4,"output_tokens":1}}`,
			`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}}`,
			`{"type":"compacted","payload":{"message":"s"}}`,
			`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}`,
			`{"type":"event_msg","payload":{"type":"token_count","input_tokens":8,"output_tokens":1}}`,
		}, "m 5 1\nm 8 1\n"},
	} {
		got := ""
		for _, a := range readAll(t, c.lines...)[0].Answers {
			got += fmt.Sprintln(a.Model, a.Usage.Input, a.Usage.Output)
		}
		if got != c.want {
			t.Errorf("%s\ngot %q, want %q", c.lines[1], got, c.want)
		}
	}
}

// Another agent's messages look like those of pi, but they have no session head of pi.
func TestNotPi(t *testing.T) {
	_, err := Opener{}.read("x.jsonl", strings.NewReader(`{"type":"session_start","id":"d1","title":"t","cwd":"/w"}
{"type":"message","id":"m1","parentId":null,"timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":[{"type":"text","text":"q"}]}}
{"type":"message","id":"m2","parentId":"m1","timestamp":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}
`), 0)
	if !Skipped(err) {
		t.Errorf("read as a session: %v", err)
	}
}

// BILL-4: a place that is there and cannot be read is returned, so that it is named.
func TestFindUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are other ones there")
	}
	home := t.TempDir()
	wanted := []string{
		"/.claude/projects", "/.config/claude/projects", "/.codex/sessions", "/.codex/archived_sessions", "/.local/share/opencode/opencode.db",
		"/.local/share/opencode/storage", "/.pi/agent/sessions", "/.copilot/session-state", "/.qwen/projects", "/.cline/data/sessions", "/.cline/data/tasks",
	}
	for _, place := range wanted { // links to nothing
		path := filepath.Join(home, filepath.FromSlash(place))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(home, "gone"), path); err != nil {
			t.Fatal(err)
		}
	}
	locked := []string{".copilot", ".gemini/tmp"}
	if os.Getuid() == 0 {
		locked = nil // root reads everything
	} else {
		wanted = append(wanted, "/.copilot/history-session-state", "/.gemini/tmp")
	}
	for _, dir := range locked {
		path := filepath.Join(home, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
	}
	var places []string
	for _, s := range Find(home, func(string) string { return "" }) {
		places = append(places, strings.TrimPrefix(filepath.ToSlash(s.Path), filepath.ToSlash(home)))
	}
	for _, want := range wanted {
		if !slices.Contains(places, want) {
			t.Errorf("%s is not in %v", want, places)
		}
	}
}

// BILL-1: a fork of pi gives its entries new ids.
func TestPiForkKeys(t *testing.T) {
	key := func(id string) [16]byte {
		line := `{"type":"message","id":"` + id + `","parentId":null,"timestamp":"2026-01-02T03:04:05Z","message":{"role":"assistant","provider":"p","model":"m",` +
			`"content":[{"type":"text","text":"a"}],"usage":{"input":3,"output":1,"cacheRead":0}}}`
		answers := readAll(t, line, line)[0].Answers
		if len(answers) != 1 {
			t.Fatalf("%d answers", len(answers))
		}
		return answers[0].Key
	}
	if key("1") != key("2") {
		t.Error("another key with another id")
	}
}

func usageText(u llm.Usage) string {
	return strings.ReplaceAll(fmt.Sprintf("%+v", u), " WebSearches:0 Speed: Region: Tier:}", "}")
}
