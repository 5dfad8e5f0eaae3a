package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/proxy"
)

const testBase = "http://127.0.0.1:4141"

// place is a program in an empty project below an empty home.
func place(t *testing.T, env ...string) *program {
	t.Helper()
	home := t.TempDir()
	p := &program{env: append([]string{"HOME=" + home}, env...), dir: filepath.Join(home, "project")}
	write(t, filepath.Join(p.dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	return p
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *redirect) variable(name string) string { return (&program{env: r.env}).getenv(name) }

func TestRedirectEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name           string
		env            []string
		openai         string
		found          proxy.Upstreams
		noProxy, extra string
	}{
		{name: "nothing set", openai: testBase + "/v1", noProxy: "127.0.0.1,localhost"},
		{
			name: "set already", env: []string{"ANTHROPIC_BASE_URL=https://a.example", "OPENAI_BASE_URL=https://o.example/api/v1", "NO_PROXY=x.example"},
			openai: testBase + "/v1", found: proxy.Upstreams{Messages: "https://a.example", Chat: "https://o.example/api/v1", Responses: "https://o.example/api/v1"},
			noProxy: "x.example,127.0.0.1,localhost",
		},
		{
			name: "the older variable, and a base without a version", env: []string{"OPENAI_API_BASE=https://o.example/deep"},
			openai: testBase, found: proxy.Upstreams{Chat: "https://o.example/deep", Responses: "https://o.example/deep"}, noProxy: "127.0.0.1,localhost",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := place(t, tt.env...).redirection([]string{"qwen", "-p", "x"}, testBase)
			if diff := cmp.Diff(tt.found, r.found); diff != "" {
				t.Errorf("found: %s", diff)
			}
			want := []string{testBase, tt.openai, tt.openai, tt.noProxy}
			got := []string{r.variable("ANTHROPIC_BASE_URL"), r.variable("OPENAI_BASE_URL"), r.variable("OPENAI_API_BASE"), r.variable("NO_PROXY")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("environment: %s", diff)
			}
			if diff := cmp.Diff([]string{"qwen", "-p", "x"}, r.args); diff != "" {
				t.Errorf("arguments: %s", diff)
			}
		})
	}
}

func TestAgentOf(t *testing.T) {
	for _, tt := range []struct {
		command string
		name    string
		at      int
	}{
		{"codex exec x", "codex", 0},
		{"/usr/local/bin/codex", "codex", 0},
		{"npx -y @openai/codex@latest exec", "codex", 2},
		{"node /opt/x/codex.js", "codex", 1},
		{"opencode run", "opencode", 0},
		{"npx opencode-ai run", "opencode", 1},
		{"cn -p x", "continue", 0},
		{"npx @continuedev/cli -p x", "continue", 1},
		{"claude codex", "", 0},
		{"git commit -m codex", "", 0},
		{"env A=1 codex", "codex", 2},
		{"env -u HOME A=1 npx codex", "codex", 5},
		{"timeout 60 codex", "codex", 2},
		{"timeout -s INT --foreground 60 codex exec x", "codex", 5},
		{"nice -n 5 codex", "codex", 3},
		{"nohup cn -p x", "continue", 1},
		{"npx -p @openai/codex codex exec", "codex", 3},
		{"npx -- codex exec", "codex", 2},
		{"npx @continuedev/cli@1.2 -p x", "continue", 1},
		{"npm exec -- codex exec", "codex", 3},
		{"npm exec codex exec", "", 0}, // npm takes -c for itself
		{"pnpm dlx opencode-ai run", "opencode", 2},
		{"yarn codex", "codex", 1},
		{"node --env-file .env /opt/x/codex.js", "codex", 3},
		{"env echo codex", "", 0},
		{"env ls ./codex", "", 0},
		{"npx eslint packages/codex", "", 0},
		{"npm run codex", "", 0},
		{"timeout codex", "", 0},
		{"env", "", 0},
		{"npx -p", "", 0},
	} {
		if name, at := agentOf(strings.Fields(tt.command)); name != tt.name || at != tt.at {
			t.Errorf("%s: %q at %d, want %q at %d", tt.command, name, at, tt.name, tt.at)
		}
	}
}

func TestRedirectCodex(t *testing.T) {
	const ours = `"` + testBase + `/v1"`
	for _, tt := range []struct {
		name, config string
		args, want   []string
		found        string
	}{
		{
			name: "the built-in provider", args: []string{"codex", "exec", "x"},
			want: []string{"codex", "-c", "openai_base_url=" + ours, "exec", "x"},
		},
		{
			name: "a provider of the file", args: []string{"codex"},
			config: "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"https://m.example/v1\"\n",
			want:   []string{"codex", "-c", "model_providers.mine.base_url=" + ours}, found: "https://m.example/v1",
		},
		{
			name: "a provider of the command line", args: []string{"codex", "-c", `model_provider="there"`, "-c", `model_providers.there={name="there",base_url="https://t.example/v1"}`},
			want: []string{
				"codex", "-c", "model_providers.there.base_url=" + ours, "-c", `model_provider="there"`,
				"-c", `model_providers.there={name="there",base_url=` + ours + `}`,
			},
			found: "https://t.example/v1",
		},
		{
			name: "a base URL of the file", config: "openai_base_url = \"https://f.example/v1\"\n", args: []string{"codex"},
			want: []string{"codex", "-c", "openai_base_url=" + ours}, found: "https://f.example/v1",
		},
		{
			name: "a file that is broken is for codex to tell", config: "= = =", args: []string{"codex"},
			want: []string{"codex", "-c", "openai_base_url=" + ours},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := place(t)
			if tt.config != "" {
				write(t, filepath.Join(p.home(), ".codex", "config.toml"), tt.config)
			}
			r := p.redirection(tt.args, testBase)
			if diff := cmp.Diff(tt.want, r.args); diff != "" {
				t.Errorf("arguments: %s", diff)
			}
			if r.found.Responses != tt.found {
				t.Errorf("found %q, want %q", r.found.Responses, tt.found)
			}
		})
	}
}

func TestRedirectOpencode(t *testing.T) {
	const local = `{ // a comment
		"provider": {"local": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{env:WHERE}/v1", "apiKey": "k"},}}, /* and more */
		"model": "local/m"}`
	p := place(t, "WHERE=http://10.0.0.1:8080", `OPENCODE_CONFIG_CONTENT={"theme":"dark","provider":{"anthropic":{"options":{"timeout":5}}}}`)
	write(t, filepath.Join(p.home(), ".config", "opencode", "opencode.json"), local)
	write(t, filepath.Join(p.dir, "opencode.jsonc"),
		`{"provider": {"other": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "https://other.example/v1"}}}}`)
	r := p.redirection([]string{"opencode", "run", "x"}, testBase)

	var got any
	if err := json.Unmarshal([]byte(r.variable("OPENCODE_CONFIG_CONTENT")), &got); err != nil {
		t.Fatal(err)
	}
	ours := map[string]any{"baseURL": testBase + "/v1"}
	want := map[string]any{
		"theme": "dark",
		"provider": map[string]any{
			"anthropic": map[string]any{"options": map[string]any{"timeout": 5.0, "baseURL": testBase + "/v1"}},
			"openai":    map[string]any{"options": ours},
			"local":     map[string]any{"options": ours},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content: %s", diff)
	}
	if want := (proxy.Upstreams{Chat: "http://10.0.0.1:8080/v1"}); r.found != want {
		t.Errorf("found %+v, want %+v", r.found, want)
	}
	if len(r.notes) != 1 || !strings.Contains(r.notes[0], "provider other is not redirected") {
		t.Errorf("notes: %q", r.notes)
	}

	r = p.redirection([]string{"opencode", "run", "-m", "other/m", "x"}, testBase)
	if r.found.Chat != "https://other.example/v1" {
		t.Errorf("the chosen model's provider does not come first: %q", r.found.Chat)
	}

	p.env = append(p.env, "OPENCODE_CONFIG_CONTENT=not json")
	r = p.redirection([]string{"opencode"}, testBase)
	if len(r.notes) != 1 || !strings.Contains(r.notes[0], "not JSON") || r.variable("OPENCODE_CONFIG_CONTENT") != "not json" {
		t.Errorf("broken content: notes %q, content %q", r.notes, r.variable("OPENCODE_CONFIG_CONTENT"))
	}
}

func TestRedirectContinue(t *testing.T) {
	p := place(t)
	file := filepath.Join(p.home(), ".continue", "config.yaml")
	const config = "name: mine\nmodels:\n" +
		"  - name: one\n    provider: openai\n    apiBase: https://o.example/v1/\n    apiKey: k\n" +
		"  - name: two\n    provider: anthropic\n" +
		"  - name: three\n    provider: ollama\n" +
		"  - name: four\n    provider: openai\n    apiBase: https://else.example/v1\n"
	write(t, file, config)
	r := p.redirection([]string{"cn", "-p", "x"}, testBase)
	if len(r.notes) > 0 || len(r.args) != 5 || r.args[1] != "--config" {
		t.Fatalf("arguments %q, notes %q", r.args, r.notes)
	}
	b, err := os.ReadFile(r.args[2])
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "apiBase: "+testBase+"/v1\n"); n != 2 {
		t.Errorf("%d models are redirected, want 2:\n%s", n, b)
	}
	if !strings.Contains(string(b), "https://else.example/v1") {
		t.Errorf("a model at another place is redirected too:\n%s", b)
	}
	want := proxy.Upstreams{Chat: "https://o.example/v1", Responses: "https://o.example/v1"}
	if r.found != want {
		t.Errorf("found %+v, want %+v", r.found, want)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != config {
		t.Errorf("the person's own file has changed: %v\n%s", err, kept)
	}
	info, err := os.Stat(r.args[2])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info.Mode(), err)
	}
	copied := r.args[2]
	r.clean()
	if _, err := os.Stat(copied); err == nil {
		t.Error("the copy is still there")
	}

	r = p.redirection([]string{"cn", "--config=no/such.yaml"}, testBase)
	if len(r.notes) != 1 || !slices.Equal(r.args, []string{"cn", "--config=no/such.yaml"}) {
		t.Errorf("without a file: arguments %q, notes %q", r.args, r.notes)
	}
}

// FuzzWithoutComments: what is JSON stays the same value.
func FuzzWithoutComments(f *testing.F) {
	for _, s := range []string{`{"a": "// no comment", "b": [1, 2,], /* x */ "c": "\"*/"}`, `"\`, `/*`, `//`, `[,]`, `{"a":"/*"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var before, after any
		out := withoutComments([]byte(s))
		if json.Unmarshal([]byte(s), &before) != nil {
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q became %q: %v", s, out, err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}
