package proxy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// capture is a request that a real agent made.
type capture struct {
	path string
	body string
}

// captures returns the recorded requests, by name of the recording. It skips the test if there are none.
func captures(t *testing.T) map[string][]capture {
	t.Helper()
	dir := os.Getenv("STET_CAPTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "captures")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.meta.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skip("no captures here")
	}
	all := map[string][]capture{}
	for _, file := range files {
		stem := strings.TrimSuffix(file, ".meta.jsonl")
		bodies := lines(t, stem+".jsonl")
		for i, meta := range lines(t, file) {
			var m struct {
				Method, Path string
				Line         int
			}
			if err := json.Unmarshal(meta, &m); err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			if m.Method != "POST" || m.Line < 1 || m.Line > len(bodies) {
				continue
			}
			body := bodies[m.Line-1]
			var raw struct {
				Raw *string `json:"_raw"`
			}
			if bytes.HasPrefix(body, []byte(`{"_raw"`)) && json.Unmarshal(body, &raw) == nil && raw.Raw != nil {
				body = []byte(*raw.Raw)
			}
			all[filepath.Base(stem)] = append(all[filepath.Base(stem)], capture{m.Path, string(body)})
		}
	}
	return all
}

func lines(t *testing.T, file string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		if len(bytes.TrimSpace(s.Bytes())) > 0 {
			out = append(out, bytes.Clone(s.Bytes()))
		}
	}
	return out
}

// Requests of real agents pass byte for byte under off. Under the other policies they stay valid, only tool results and arguments
// of calls change, and the proxy understands every request.
func TestCaptures(t *testing.T) {
	for name, requests := range captures(t) {
		for _, policy := range []trim.Policy{trim.Off, trim.KeepLatest, trim.Lossless, trim.Adaptive} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				up := &recorder{}
				r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: policy, KeepReads: 1} })
				changed := 0
				for i, c := range requests {
					if status, answer := r.post(c.path, c.body); status != 200 {
						t.Fatalf("request %d: %d %s", i, status, answer)
					}
					got := string(up.last(t).body)
					if got == c.body {
						continue
					}
					changed++
					if policy == trim.Off {
						t.Fatalf("request %d changed under off", i)
					}
					var was, is any
					if err := json.Unmarshal([]byte(c.body), &was); err != nil {
						t.Fatal(err)
					}
					if err := json.Unmarshal([]byte(got), &is); err != nil {
						t.Fatalf("request %d is no JSON any more: %v", i, err)
					}
					if where := differs(was, is, "", false); where != "" {
						t.Fatalf("request %d changed at %s", i, where)
					}
				}
				planned, conversations := 0, map[string]int{}
				for i, row := range r.rows() {
					if row.Passed != "" {
						t.Errorf("row %d passed: %s", i, row.Passed)
					}
					planned += row.Trimmed
					conversations[row.Conversation]++
				}
				t.Logf("%d requests, %d changed, %d results shortened, conversations %v", len(requests), changed, planned, sizes(conversations))
			})
		}
	}
}

func sizes(m map[string]int) []int {
	var out []int
	for _, n := range m {
		out = append(out, n)
	}
	return out
}

// differs returns the place where a and b differ outside of tool results, or "".
func differs(a, b any, at string, result bool) string {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return at
		}
		isResult := a["type"] == "tool_result" || a["role"] == "tool" || a["type"] == "function_call_output" ||
			a["type"] == "custom_tool_call_output"
		isCall := a["type"] == "tool_use" || a["type"] == "function" || a["type"] == "function_call" || a["type"] == "custom_tool_call"
		for k, v := range a {
			if isCall && k == "input" && reflect.TypeOf(v) == reflect.TypeOf(b[k]) {
				continue // the arguments of an edit
			}
			inside := result && (k == "text" || k == "content") || isResult && (k == "content" || k == "output") ||
				isCall && (k == "arguments" || k == "function") || result && k == "arguments"
			if where := differs(v, b[k], at+"."+k, inside); where != "" {
				return where
			}
		}
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return at
		}
		for i := range a {
			if where := differs(a[i], b[i], fmt.Sprintf("%s[%d]", at, i), result); where != "" {
				return where
			}
		}
	case string:
		b, ok := b.(string)
		if !ok || a != b && !result {
			return at
		}
	default:
		if !reflect.DeepEqual(a, b) {
			return at
		}
	}
	return ""
}
