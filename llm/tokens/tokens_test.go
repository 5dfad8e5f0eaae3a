package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens/bpe"
	"github.com/stet-dev/stet/tool"
)

// Small texts of each kind, all our own.
var samples = map[string]string{
	"code": `// sum adds up the lengths of all lines that are not empty.
func sum(lines []string) (total int, err error) {
	for i, line := range lines {
		if line == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", i+1, err)
		}
		total += n
	}
	return total, nil
}

type httpServer struct {
	listenAddr string
	maxBodyLen int64
	onShutdown []func(context.Context) error
}
`,
	"json": `{"id":"msg_01","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_7","name":"read_file","input":{"path":"src/app/main.ts","offset":120,"limit":40}}],"usage":{"input_tokens":1934,"output_tokens":57,"cache_read_input_tokens":88211},"stop_reason":"tool_use","values":[1,2.5,-3,1e9,null,true]}`,
	"prose": `The workshop stands at the end of a narrow lane, and nobody who walks past it would guess what is made there.
Every morning the old owner opens the shutters, sweeps the step and puts the kettle on. When the first visitor comes, usually before nine, the tools
are already laid out on the bench in the order in which they will be needed. Nothing is ever hurried; a clock that
was broken for forty years can wait another week until the right spring has been found.`,
	"zh": `## 读取与缓存

调用 readFile(path, offset) 会按行返回文件内容。若同一路径在本轮会话里已经读取且哈希值未变,则仅返回一行占位说明,避免重复占用上下文窗口。
- 路径规范化:去除 ./ 前缀,统一分隔符;
- 失败的读取(以 Error: 开头)始终保留,不计入次数;
- 默认保留最近 5 次,可通过 keepReads 配置项调整。

编辑器触发 onSave 事件后,索引器重新解析抽象语法树,并将诊断结果推送至侧边栏。`,
	"ru": `Программа читает файл построчно и возвращает модели только те строки, которые она ещё не видела. Если содержимое не изменилось, повторное чтение заменяется короткой пометкой. Благодаря этому окно контекста заполняется медленнее, а стоимость запросов снижается.`,
}

func init() {
	var noise []byte
	for sum := sha256.Sum256(nil); len(noise) < 3000; sum = sha256.Sum256(sum[:]) {
		noise = append(noise, sum[:]...)
	}
	samples["tools"] = `{"name":"edit_file","description":"Replaces text in a file. The old text must stand in the file exactly once, with all white space. Several edits are made at once or not at all; where one does not fit, the result says which, and what stands there.","input_schema":{"type":"object","properties":{"path":{"type":"string","description":"Path to the file, relative to the workspace"},"edits":{"type":"array","items":{"type":"object","properties":{"old_text":{"type":"string","description":"The text to replace"},"new_text":{"type":"string","description":"The text in its place"}},"required":["old_text","new_text"]}},"dry_run":{"type":"boolean","description":"Only show the difference","default":false}},"required":["path","edits"],"additionalProperties":false}}`
	quoted, _ := json.Marshal(samples["code"] + samples["zh"])
	samples["quoted"] = string(quoted)
	samples["hex"] = hex.EncodeToString(noise)
}

// CTX-1: the estimate is compared with the exact count for each kind of text. The samples are short: the limits are 15 % for one, 5
// % for all together.
func TestEstimateAgainstExact(t *testing.T) {
	for _, v := range []struct {
		exact Counter
		est   Estimate
	}{{bpe.O200k(), Estimate{}}, {bpe.CL100k(), Estimate{CL100k: true}}} {
		var all, allEst int
		for name, text := range samples {
			real, est := v.exact.Count(text), v.est.Count(text)
			all, allEst = all+real, allEst+est
			if off := float64(est)/float64(real) - 1; math.Abs(off) > 0.15 {
				t.Errorf("%s (cl100k %v): %d tokens, estimated %d: %+.1f %%", name, v.est.CL100k, real, est, 100*off)
			}
		}
		if off := float64(allEst)/float64(all) - 1; math.Abs(off) > 0.05 {
			t.Errorf("all (cl100k %v): %d tokens, estimated %d: %+.1f %%", v.est.CL100k, all, allEst, 100*off)
		}
	}
}

func TestEstimateSmall(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "hello": 1, "the the the the": 4, "123456789": 3, " ": 1, "\n\n": 1, "\xff": 1} {
		if got := (Estimate{}).Count(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestEstimateFor(t *testing.T) {
	for m, want := range map[string]Estimate{"claude-sonnet-4-5": {Scale: 1.1}, "claude-opus-4-8": {Scale: 1.73}, "my-model": {}, "": {}} {
		if c := EstimateFor(m); c != Counter(want) {
			t.Errorf("%q is estimated by %#v", m, c)
		}
	}
	if n, scaled := (Estimate{}).Count(samples["code"]), (Estimate{Scale: 1.5}).Count(samples["code"]); scaled != (n*3+1)/2 && scaled != n*3/2 {
		t.Errorf("%d tokens, scaled by 1.5 %d", n, scaled)
	}
	if EstimateFor("gpt-4") != Counter(Estimate{CL100k: true}) || EstimateFor("gpt-5") != Counter(Estimate{}) {
		t.Error("EstimateFor chose the other table")
	}
}

// CTX-1: input + cache creation + cache read + output.
func TestFromUsage(t *testing.T) {
	u := llm.Usage{Input: 3, CacheWrite: 500, CacheWrite1h: 200, CacheRead: 12000, Output: 45, Reasoning: 30}
	if got := FromUsage(u); got != 12548 {
		t.Errorf("FromUsage = %d, want 12548", got)
	}
	if got := FromUsage(llm.Usage{}); got != 0 {
		t.Errorf("FromUsage of zero usage = %d", got)
	}
}

// perByte counts bytes, so that expected sums are easy to compute.
type perByte struct{}

func (perByte) Count(text string) int { return len(text) }

// CTX-1
func TestCountRequest(t *testing.T) {
	r := &llm.Request{
		Tools: []tool.Spec{{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)}}, // 12+4+5+17
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{{Text: "be brief"}}},                                                                                                             // 4+8
			{Role: llm.User, Local: true, Parts: []llm.Part{{Text: "never sent"}}},                                                                                                // 0
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, Name: "read", Args: `{"path":"a"}`, CallID: "c"}}},                                                       // 4+8+4+12
			{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c", Text: "text"}}},                                                                                // 4+6+4
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.Opaque, Raw: strings.Repeat("x", 100000)}, {Kind: llm.Opaque, Raw: "{}"}, {Kind: llm.Thinking, Text: "hm", Raw: "{}"}}}, // 4+1600+2+2
		},
	}
	if got, want := CountRequest(r, perByte{}), 38+12+28+14+1608; got != want {
		t.Errorf("CountRequest = %d, want %d", got, want)
	}
}

func TestMemo(t *testing.T) {
	calls := 0
	m := &Memo{Counter: counterFunc(func(s string) int { calls++; return len(s) }), Entries: 4}
	text := func(i int) string { return strings.Repeat(string(rune('a'+i)), 200+i) }
	for range 3 {
		for i := range 4 {
			if got := m.Count(text(i)); got != 200+i {
				t.Errorf("Count = %d, want %d", got, 200+i)
			}
		}
	}
	if calls != 4 {
		t.Errorf("%d calls for 4 texts", calls)
	}
	for i := range 26 {
		m.Count(text(i))
	}
	if n := len(m.now) + len(m.old); n > 8 {
		t.Errorf("%d entries kept", n)
	}
	if (&Memo{}).Count(samples["code"]) != (Estimate{}).Count(samples["code"]) {
		t.Error("the zero Memo does not estimate")
	}
}

type counterFunc func(string) int

func (f counterFunc) Count(s string) int { return f(s) }

func checkBounds(t *testing.T, e Estimate, a, b string) {
	t.Helper()
	ab, na, nb := e.Count(a+b), e.Count(a), e.Count(b)
	if na < 0 || nb < 0 || ab < 0 {
		t.Fatalf("negative count: %d %d %d", na, nb, ab)
	}
	if na > len(a) || nb > len(b) {
		t.Fatalf("more tokens than bytes: %d for %q, %d for %q", na, a, nb, b)
	}
	// Joining two texts changes only the pieces at the join, which have a few tokens each.
	const seam = 24
	if ab > na+nb+seam || ab < na-seam || ab < nb-seam || ab < na+nb-2*seam {
		t.Fatalf("%q + %q: %d + %d gives %d", a, b, na, nb, ab)
	}
}

// CTX-1: never negative, and monotone in concatenation within a bound.
func FuzzEstimate(f *testing.F) {
	for _, s := range samples {
		f.Add(s[:len(s)/2], s[len(s)/2:])
	}
	f.Add("", "")
	f.Add(strings.Repeat("A", 5000), "a")
	f.Add(strings.Repeat("=", 5000), "!")
	f.Add(strings.Repeat("\t", 500), "x")
	f.Add("\xff\xfe\x80", "\xf0\x9f\x98")
	f.Add("é", "́")
	f.Fuzz(func(t *testing.T, a, b string) {
		checkBounds(t, Estimate{}, a, b)
		checkBounds(t, Estimate{CL100k: true}, a, b)
	})
}

// The pieces cover any text without gaps.
func FuzzScan(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Add("fooBarBAZQux naïveté \u3000,中文abc한국어 \r\n\t\tx  \v9")
	f.Fuzz(func(t *testing.T, s string) {
		for _, humps := range []bool{false, true} {
			sc := scanner{s: s, humps: humps}
			for i := 0; i < len(s); {
				c, end := sc.next(i)
				if end <= i || end > len(s) || c < -1 || c >= cells {
					t.Fatalf("next(%d) = %d, %d in %q", i, c, end, s)
				}
				if utf8.ValidString(s) && !utf8.ValidString(s[i:end]) {
					t.Fatalf("piece %q cuts a character", s[i:end])
				}
				i = end
			}
		}
	})
}
