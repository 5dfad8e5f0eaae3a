package replay_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim/replay"
)

type object = map[string]any

func at(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

func number(v any, path ...string) int {
	n, _ := at(v, path...).(float64)
	return int(n)
}

func word(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// counter adds up usage × price of one file. It shares no code with package transcript.
type counter struct {
	usd   map[string]float64 // by answer
	model string
	tier  string // of Codex
	last  string // the sums of the last usage, of Codex
}

func (c *counter) add(answer, model string, u llm.Usage) {
	m, _ := prices.Lookup(model)
	if usd, ok := m.Cost(u); ok {
		c.usd[answer] = max(c.usd[answer], usd)
	}
}

func (c *counter) value(format string, v any) {
	id := strings.Join([]string{word(v, "message", "id"), word(v, "requestId")}, " ")
	u := at(v, "message", "usage")
	switch format {
	case "claude-code-jsonl":
		if word(v, "type") == "assistant" && word(v, "message", "model") != "<synthetic>" {
			speed := word(u, "speed")
			if speed == "standard" {
				speed = ""
			}
			c.add(id, word(v, "message", "model"), llm.Usage{
				Input: number(u, "input_tokens"), Output: number(u, "output_tokens"), CacheRead: number(u, "cache_read_input_tokens"),
				CacheWrite: number(u, "cache_creation_input_tokens"), CacheWrite1h: number(u, "cache_creation", "ephemeral_1h_input_tokens"),
				WebSearches: number(u, "server_tool_use", "web_search_requests"), Speed: speed,
			})
		}
	case "codex-rollout":
		if word(v, "type") == "turn_context" {
			c.model = word(v, "payload", "model")
		}
		if word(v, "payload", "type") == "thread_settings_applied" {
			c.tier = strings.TrimPrefix(word(v, "payload", "thread_settings", "service_tier"), "default")
		}
		total, last := at(v, "payload", "info", "total_token_usage"), at(v, "payload", "info", "last_token_usage")
		sums, _ := json.Marshal(total)
		if word(v, "payload", "type") != "token_count" || total == nil || string(sums) == c.last {
			return
		}
		c.last = string(sums)
		read, written := number(last, "cached_input_tokens"), number(last, "cache_write_input_tokens")
		c.add(c.last, c.model, llm.Usage{
			Input: number(last, "input_tokens") - read - written, CacheRead: read, CacheWrite: written, Output: number(last, "output_tokens"),
			Tier: c.tier,
		})
	case "pi-session":
		c.add(word(v, "id")+word(v, "timestamp"), word(v, "message", "model"), llm.Usage{
			Input: number(u, "input"), Output: number(u, "output"), CacheRead: number(u, "cacheRead"), CacheWrite: number(u, "cacheWrite"),
			CacheWrite1h: number(u, "cacheWrite1h"),
		})
	case "gemini-cli-chat":
		all, _ := at(v, "messages").([]any)
		for _, m := range append(all, v) {
			k := at(m, "tokens")
			c.add(word(m, "id"), word(m, "model"), llm.Usage{
				Input: number(k, "input") - number(k, "cached") + number(k, "tool"), CacheRead: number(k, "cached"),
				Output: number(k, "output") + number(k, "thoughts"),
			})
		}
	case "cline-messages":
		all, _ := at(v, "messages").([]any)
		for _, m := range all {
			k := at(m, "metrics")
			read, written := number(k, "cacheReadTokens"), number(k, "cacheWriteTokens")
			c.add(word(m, "id"), word(m, "modelInfo", "id"), llm.Usage{
				Input: number(k, "inputTokens") - read - written, CacheRead: read, CacheWrite: written, Output: number(k, "outputTokens"),
			})
		}
	case "mini-swe-agent-traj":
		all, _ := at(v, "messages").([]any)
		for i, m := range all {
			c.chat(fmt.Sprint(i), word(v, "info", "config", "model", "model_name"), at(m, "extra", "response"))
		}
	case "openhands-output":
		all, _ := at(v, "history").([]any)
		for _, e := range all {
			r := at(e, "tool_call_metadata", "model_response")
			c.chat(word(v, "instance_id")+word(r, "id"), word(v, "metadata", "llm_config", "model"), r)
		}
	case "opencode-export":
		all, _ := at(v, "messages").([]any)
		for _, m := range all {
			parts, _ := at(m, "parts").([]any)
			for _, p := range parts {
				if k := at(p, "tokens"); word(p, "type") == "step-finish" {
					c.add(word(p, "id"), word(m, "info", "modelID"), llm.Usage{
						Input: number(k, "input"), Output: number(k, "output") + number(k, "reasoning"),
						CacheRead: number(k, "cache", "read"), CacheWrite: number(k, "cache", "write"),
					})
				}
			}
		}
	}
}

// chat adds an answer of the Chat Completions API.
func (c *counter) chat(answer, model string, response any) {
	u := at(response, "usage")
	read, written := number(u, "prompt_tokens_details", "cached_tokens"), number(u, "cache_creation_input_tokens")
	c.add(answer, cmp.Or(word(response, "model"), model), llm.Usage{
		Input: number(u, "prompt_tokens") - read - written, CacheRead: read, CacheWrite: written, Output: number(u, "completion_tokens"),
	})
}

// What savings reports of each recording equals usage × price, counted without package transcript.
//
// BILL-1, BILL-2
func TestIndependentCount(t *testing.T) {
	dir := os.Getenv("STET_TRANSCRIPTS")
	if dir == "" {
		t.Skip("STET_TRANSCRIPTS is not set")
	}
	counted := 0
	for _, format := range []string{
		"claude-code-jsonl", "codex-rollout", "pi-session", "gemini-cli-chat", "opencode-export",
		"cline-messages", "mini-swe-agent-traj", "openhands-output",
	} {
		files, _ := filepath.Glob(filepath.Join(dir, format, "*"))
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := counter{usd: map[string]float64{}}
			var whole object
			pieces := [][]byte{data}
			if json.Unmarshal(data, &whole) != nil && format == "mini-swe-agent-traj" {
				t.Logf("%s is damaged: not counted", file)
				continue
			} else if whole == nil { // a value in each line, some damaged
				pieces = bytes.Split(data, []byte("\n"))
			}
			for _, piece := range pieces {
				dec := json.NewDecoder(bytes.NewReader(piece))
				for v := any(nil); dec.Decode(&v) == nil; v = nil {
					c.value(format, v)
				}
			}
			want, got := 0.0, 0.0
			for _, usd := range c.usd {
				want += usd
			}
			rep, err := replay.Savings(t.Context(), []string{file}, replay.Config{OneRule: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if usd := rep.Totals.USD; usd != nil {
				got, counted = usd.Reported, counted+1
			}
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: reported $%.4f, counted $%.4f", file, got, want)
			}
		}
	}
	t.Logf("%d recordings", counted)
}
