package prices

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

func TestRules(t *testing.T) {
	want := map[string][2]float64{
		Anthropic5m: {0.1, 1.25}, Anthropic1h: {0.1, 2}, OpenAI: {0.1, 1}, None: {1, 1},
	}
	if len(Rules()) != len(want) {
		t.Fatalf("%d rules, want %d", len(Rules()), len(want))
	}
	for _, r := range Rules() {
		w, ok := want[r.Name]
		if !ok || r.Read != w[0] || r.Write != w[1] {
			t.Errorf("%s: read %v write %v", r.Name, r.Read, r.Write)
		}
		if r.Cached() == (r.Name == None) {
			t.Errorf("%s: Cached is %v", r.Name, r.Cached())
		}
	}
	// 1,000 read, 200 written, 10 plain at 0.1 and 1.25: 100 + 250 + 10.
	r, _ := RuleNamed(Anthropic5m)
	if got := r.Cost(1000, 200, 10); got != 360 {
		t.Errorf("Cost = %v, want 360", got)
	}
	if _, ok := RuleNamed("other"); ok {
		t.Error("RuleNamed found a rule that is not there")
	}
}

func TestLookup(t *testing.T) {
	for name, id := range map[string]string{
		"claude-sonnet-4-5-20250929":                   "claude-sonnet-4-5",
		"anthropic/claude-sonnet-4.5":                  "claude-sonnet-4-5",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
		"global.anthropic.claude-opus-4-6-v1":          "claude-opus-4-6",
		"claude-sonnet-4-5@20250929":                   "claude-sonnet-4-5",
		"claude-sonnet-4-5[1m]":                        "claude-sonnet-4-5",
		"claude-opus-4-5-20251101":                     "claude-opus-4-5",
		"claude-opus-4-20250514":                       "claude-opus-4-0",
		"claude-fable-5":                               "claude-fable-5",
		"claude-fable-5-1-20261001":                    "claude-fable-5-1",
		"claude-haiku-4-5-20251001":                    "claude-haiku-4-5",
		"claude-3-7-sonnet-20250219":                   "claude-3-7-sonnet-latest",
		"Claude-Sonnet-4-20250514":                     "claude-sonnet-4-0",
		"gpt-5":                                        "gpt-5",
		"openai/gpt-5-codex":                           "gpt-5",
		"gpt-5-codex":                                  "gpt-5",
		"gpt-5.1-codex-mini":                           "gpt-5.1-codex-mini",
		"gpt-5.1-codex-max":                            "gpt-5.1",
		"gpt-5.4":                                      "gpt-5.4",
		"gpt-5.6-sol":                                  "gpt-5.6-sol",
		"gpt-5.6-sol-2026-07-01":                       "gpt-5.6-sol",
		"gpt-4o-2024-11-20":                            "gpt-4o",
		"o3-mini-2025-01-31":                           "o3-mini",
		"google/gemini-3-pro-preview":                  "gemini-3-pro-preview",
		"gemini-3-flash":                               "gemini-3-flash-preview",
		"models/gemini-2.5-pro":                        "gemini-2.5-pro",
		"qwen/qwen3-coder:free":                        "qwen/qwen3-coder",
		"openrouter/moonshotai/kimi-k2-thinking":       "kimi-k2-thinking",
		"accounts/fireworks/models/deepseek-v4-pro":    "deepseek-v4-pro",
		"meta-llama/llama-4-maverick":                  "meta-llama/llama-4-maverick",
	} {
		m, ok := Lookup(name)
		if !ok || m.ID != id {
			t.Errorf("Lookup(%q) = %q, %v; want %q", name, m.ID, ok, id)
		}
	}
	for _, name := range []string{"", "  ", "my-own-model", "gp", "gpt", "claude", "llama"} {
		if m, ok := Lookup(name); ok {
			t.Errorf("Lookup(%q) found %q", name, m.ID)
		}
	}
}

// WIRE-1: a model is taken to check unless it is known not to, by its exact name.
func TestChecksThinking(t *testing.T) {
	for name, want := range map[string]bool{
		"claude-fable-5-1": true, "claude-fable-5-2": true, "claude-fable-5-2-20261101": true, "claude-opus-5-5": true, "claude-opus-5.5": true,
		"claude-sonnet-5-5": true, "claude-haiku-5-5-20260901": true, "claude-mythos-5-1": true, "us.anthropic.claude-opus-5-5-v1:0": true,
		"claude-opus-4-9": true, "claude-sonnet-6": true, "claude-next": true, "my-own-model": true, "": true, "CLAUDE-OPUS-5-5[1m]": true,
		"claude-opus-5": false, "claude-fable-5": false, "claude-sonnet-5": false, "claude-opus-4-8": false, "claude-opus-4.6": false,
		"us.anthropic.claude-opus-4-6-v1": false, "claude-sonnet-4-5-20250929": false, "anthropic/claude-sonnet-4.5": false,
		"claude-sonnet-4-20250514": false, "claude-opus-4-20250514": false, "claude-opus-4-1-20250805": false, "claude-haiku-4-5-20251001": false,
		"claude-3-7-sonnet-20250219": false, "claude-3-5-haiku-latest": false, "claude-sonnet-4-5[1m]": false,
		"gpt-5": false, "deepseek-v4-pro": false, "openrouter/moonshotai/kimi-k2-thinking": false,
	} {
		if got := ChecksThinking(name); got != want {
			t.Errorf("ChecksThinking(%q) = %v", name, got)
		}
	}
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Load([]byte(`{"models":[{"id":"my-own-model","thinking":"unchecked"},{"id":"my-proxy/gpt","thinking":"checked"}]}`)); err != nil {
		t.Fatal(err)
	}
	if c.ChecksThinking("my-own-model") || !c.ChecksThinking("my-proxy/gpt") {
		t.Error("the user's own data do not count")
	}
}

func TestModelData(t *testing.T) {
	m, _ := Lookup("claude-sonnet-4-5")
	if m.Window != 200000 || m.Vocabulary != "" || m.USD != (USD{3, 15, 0.3, 3.75, 6, 10}) || m.Long.Above != 200000 || m.Long.Input != 6 {
		t.Errorf("claude-sonnet-4-5: %+v", m)
	}
	for name, vocabulary := range map[string]string{
		"gpt-4o": VocabularyO200k, "gpt-5-codex": VocabularyO200k, "o4-mini": VocabularyO200k, "gpt-5.5": VocabularyO200k,
		"gpt-4": VocabularyCL100k, "gpt-4-turbo": VocabularyCL100k, "gpt-3.5-turbo": VocabularyCL100k, "gpt-4.1": VocabularyO200k,
		"claude-opus-4-8": "", "gemini-2.5-pro": "",
	} {
		if m, ok := Lookup(name); !ok || m.Vocabulary != vocabulary {
			t.Errorf("%s: vocabulary %q, want %q", name, m.Vocabulary, vocabulary)
		}
	}
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if c.Date == "" || !strings.Contains(c.Source, "genai-prices") {
		t.Errorf("source %q of %q", c.Source, c.Date)
	}
	if n := len(modelsJSON); n > 150<<10 {
		t.Errorf("models.json has %d bytes", n)
	}
	for _, m := range c.Models() {
		if m.USD.Input <= 0 || m.USD.Output < 0 || m.Provider == "" || m.USD.CacheRead > m.USD.Input {
			t.Errorf("%s: %+v", m.ID, m.USD)
		}
		if r := m.Rule(); r.Read <= 0 || r.Write < 0.5 || r.Write > 2 {
			t.Errorf("%s: rule %+v", m.ID, r)
		}
	}
}

func TestModelRule(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	for name, want := range map[string]Rule{
		"claude-opus-4-5":  {Name: Anthropic5m, Read: 0.1, Write: 1.25, MinTokens: 4096},
		"claude-fable-5-1": {Name: Anthropic5m, Read: 0.025, Write: 1.25, MinTokens: 512},
		"gpt-5":            {Name: OpenAI, Read: 0.1, Write: 1, MinTokens: 1024},
		"gpt-5.6-sol":      {Name: OpenAI, Read: 0.1, Write: 1.25, MinTokens: 1024},
		"gpt-4":            {Name: OpenAI, Read: 0.1, Write: 1, MinTokens: 1024},
		"mistral-tiny":     {Name: None, Read: 1, Write: 1},
		"gemini-3-pro":     {Name: Gemini, Read: 0.1, Write: 1, MinTokens: 4096},
		"gemini-2.5-pro":   {Name: Gemini, Read: 0.1, Write: 1, MinTokens: 2048},
		"gemini-2.0-flash": {Name: Gemini, Read: 0.25, Write: 1, MinTokens: 4096},
	} {
		m, ok := Lookup(name)
		if r := m.Rule(); !ok || r.Name != want.Name || !near(r.Read, want.Read) || !near(r.Write, want.Write) || r.MinTokens != want.MinTokens {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
}

func TestModelCost(t *testing.T) {
	m := Model{
		Provider: "anthropic", USD: USD{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, CacheWrite1h: 6, Search: 10}, Fast: 6, US: 1.1,
		Long: Long{Above: 200000, USD: USD{Input: 6, Output: 22.5}},
	}
	// 1,000·3 + 10,000·0.3 + 500·3.75 + 500·6 + 100·15 = 12,375 µ$
	u := llm.Usage{Input: 1000, CacheRead: 10000, CacheWrite: 1000, CacheWrite1h: 500, Output: 100}
	on := func(t llm.Usage) llm.Usage {
		sum := u.Add(t)
		sum.Speed, sum.Region, sum.Tier = t.Speed, t.Region, t.Tier
		return sum
	}
	family, free := m, m
	family.Family, free.Free = "other", true
	for name, c := range map[string]struct {
		m    Model
		u    llm.Usage
		want float64 // below zero: not known
	}{
		"plain": {m, u, 0.012375},
		// Past the limit all of the prompt is dearer; unknown cache prices are the plain one.
		"long":         {m, llm.Usage{Input: 1, CacheRead: 200000}, 200001 * 6 / 1e6},
		"fast":         {m, on(llm.Usage{Speed: llm.SpeedFast}), 6 * 0.012375},
		"us, searches": {m, on(llm.Usage{Region: "us", WebSearches: 50}), 1.1*0.012375 + 0.5},
		"batch":        {m, on(llm.Usage{Tier: llm.TierBatch}), 0.012375 / 2},
		"priority":     {m, on(llm.Usage{Tier: llm.TierPriority}), -1},
		"other tier":   {m, on(llm.Usage{Tier: "ultra"}), -1},
		"no fast mode": {Model{USD: m.USD}, on(llm.Usage{Speed: llm.SpeedFast}), -1},
		"search price": {Model{USD: USD{Input: 1}}, on(llm.Usage{WebSearches: 1}), -1},
		"family":       {family, u, -1},
		"free":         {free, u, 0},
	} {
		got, known := c.m.Cost(c.u)
		if known != (c.want >= 0) || known && math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", name, got, known, c.want)
		}
	}
}

// BILL-3: the price of a model is that of its exact name; a name that only begins like a known one takes window, cache rule
// and vocabulary of that one, and no price.
func TestLookupFamily(t *testing.T) {
	for name, want := range map[string]string{ // "": the model itself
		"claude-sonnet-5-5": "claude-sonnet-5", "gpt-5-codex-mini": "gpt-5", "claude-opus-4-6-mini": "claude-opus-4-6",
		"openrouter/anthropic/claude-sonnet-5.5": "claude-sonnet-5", "us.anthropic.claude-sonnet-5-5-v1:0": "claude-sonnet-5",
		"gemini-3-pro-preview-max": "gemini-3-pro-preview", "qwen3-coder:30b": "qwen/qwen3-coder", "deepseek-v4-pro-next": "deepseek-v4-pro",
		"qwen3-coder-plus": "", "qwen/qwen3-coder-plus": "", "qwen3-coder-plus-latest": "", "qwen3-coder-plus-2025-09-23": "", "qwen3-coder-flash": "",
		"claude-sonnet-5": "", "claude-sonnet-5-20260301": "", "claude-sonnet-4-20250514": "", "claude-3-5-sonnet-20241022": "", "us.anthropic.claude-opus-4-6-v1": "",
		"anthropic.claude-3-5-sonnet-20241022-v2:0": "", "vertex_ai/claude-opus-4-5@20251101": "", "claude-opus-4-5[1m]": "", "anthropic/claude-opus-4.8": "",
		"gpt-5-codex": "", "gpt-5.1-codex-max": "", "azure/gpt-5-2025-08-07": "", "gemini-2.5-pro-preview-05-06": "", "gemini-3-pro-preview-11-2025": "",
		"gemini-1.5-pro-002": "", "moonshotai/kimi-k2-0905": "", "us-gov.anthropic.claude-haiku-4-5-20251001-v1:0": "", "moonshot.kimi-k2-thinking": "",
		"eu.anthropic.claude-sonnet-4-5-20250929-v1:0": "", "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1": "",
	} {
		m, ok := Lookup(name)
		if !ok || m.Family != want || m.Priced() != (want == "") {
			t.Errorf("%s: %v, %s of family %q, priced %v; want family %q", name, ok, m.ID, m.Family, m.Priced(), want)
		}
	}
	if m, _ := Lookup("qwen/qwen3-coder:free"); !m.Free {
		t.Error("a free variant has a price")
	}
	// Opus's fast mode, and requests that must stay in the United States (Anthropic's page on prices, 2026-11).
	for name, want := range map[string][2]float64{"claude-opus-4-6": {6, 1.1}, "claude-opus-4-8": {2, 1.1}, "claude-opus-5": {2, 1.1}, "claude-haiku-4-5": {0, 1}} {
		if m, _ := Lookup(name); m.Fast != want[0] || m.US != want[1] || m.USD.Search != 10 {
			t.Errorf("%s: fast %v, in the US %v, searches %v", name, m.Fast, m.US, m.USD.Search)
		}
	}
}

func TestLoad(t *testing.T) {
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	before := len(c.Models())
	err = c.Load([]byte(`{"models":[
		{"id":"My-Model","provider":"me","window":32768,"vocabulary":"o200k_base","usd":{"in":1}},
		{"id":"gpt-5","window":999,"match":{"is":["other-five"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := c.Lookup("local/my-model:q4"); !ok || m.Window != 32768 || m.Vocabulary != VocabularyO200k {
		t.Errorf("own model: %+v, %v", m, ok)
	}
	if m, _ := c.Lookup("gpt-5"); m.Window != 999 || m.USD.Input != 1.25 || m.Provider != "openai" {
		t.Errorf("overridden model: %+v", m)
	}
	if m, _ := Lookup("gpt-5"); m.Window == 999 || m.Match.Is[0] == "other-five" {
		t.Error("Load changed the embedded data")
	}
	if n := len(c.Models()); n != before+1 {
		t.Errorf("%d models, want %d", n, before+1)
	}
	for _, bad := range []string{`{`, `[]`, `{"models":[{"window":1}]}`, `{"models":[{"id":"x","window":"big"}]}`} {
		if err := c.Load([]byte(bad)); err == nil {
			t.Errorf("Load(%s) accepted", bad)
		}
	}
	if n := len(c.Models()); n != before+1 {
		t.Errorf("a refused file changed the catalog: %d models", n)
	}
}

// The generated file is what the committed script writes. Runs only where the
// script's package is installed.
func TestGenerated(t *testing.T) {
	if _, err := os.Stat("gen/node_modules/@pydantic/genai-prices"); err != nil {
		t.Skip("npm package not installed in gen")
	}
	date := regexp.MustCompile(`"date": "([^"]+)"`).FindSubmatch(modelsJSON)
	cmd := exec.Command("node", "gen.mjs", string(date[1]))
	cmd.Dir = "gen"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != string(modelsJSON) {
		t.Error("models.json differs from what gen.mjs writes: run go generate ./prices")
	}
}

func FuzzLookup(f *testing.F) {
	for _, s := range []string{"gpt-5", "us.anthropic.claude-opus-4-6-v1", "a/b:c@d[e]", "", "-", "models/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		a, ok := Lookup(name)
		b, again := Lookup(name)
		if ok != again || a.ID != b.ID {
			t.Errorf("Lookup(%q) is not stable: %q, %q", name, a.ID, b.ID)
		}
		if ok && a.USD.Input <= 0 {
			t.Errorf("Lookup(%q) = %+v", name, a)
		}
	})
}
