package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stet-dev/stet/llm"
)

const testBase = "http://127.0.0.1:4141"

// place returns a machine with an empty project below an empty home.
func place(t *testing.T, env ...string) Machine {
	t.Helper()
	home := t.TempDir()
	m := Machine{Env: append([]string{"HOME=" + home}, env...), Dir: filepath.Join(home, "project")}
	write(t, filepath.Join(m.Dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	return m
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

func (r *Redirect) variable(name string) string { return Machine{Env: r.Env}.Getenv(name) }

func TestRedirectEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name           string
		env            []string
		openai         string
		found          llm.Upstreams
		noProxy, extra string
	}{
		{name: "nothing set", openai: testBase + "/v1", noProxy: "127.0.0.1,localhost,::1"},
		{
			name: "set already", env: []string{"ANTHROPIC_BASE_URL=https://a.example", "OPENAI_BASE_URL=https://o.example/api/v1", "NO_PROXY=x.example"},
			openai: testBase + "/v1", found: llm.Upstreams{llm.Messages: "https://a.example", llm.Chat: "https://o.example/api/v1", llm.Responses: "https://o.example/api/v1"},
			noProxy: "x.example,127.0.0.1,localhost,::1",
		},
		{
			name: "aider's variable", env: []string{"ANTHROPIC_API_BASE=https://a.example"}, openai: testBase + "/v1",
			found: llm.Upstreams{llm.Messages: "https://a.example"}, noProxy: "127.0.0.1,localhost,::1", extra: testBase,
		},
		{
			name: "the older variable, and a base without a version", env: []string{"OPENAI_API_BASE=https://o.example/deep"},
			openai: testBase, found: llm.Upstreams{llm.Chat: "https://o.example/deep", llm.Responses: "https://o.example/deep"}, noProxy: "127.0.0.1,localhost,::1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := place(t, tt.env...).Redirect([]string{"qwen", "-p", "x"}, testBase)
			if diff := cmp.Diff(tt.found, r.Found, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("found: %s", diff)
			}
			want := []string{testBase, tt.openai, tt.openai, tt.noProxy, tt.extra}
			got := []string{r.variable("ANTHROPIC_BASE_URL"), r.variable("OPENAI_BASE_URL"), r.variable("OPENAI_API_BASE"), r.variable("NO_PROXY"), r.variable("ANTHROPIC_API_BASE")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("environment: %s", diff)
			}
			if diff := cmp.Diff([]string{"qwen", "-p", "x"}, r.Args); diff != "" {
				t.Errorf("arguments: %s", diff)
			}
		})
	}
}

func TestRedirectClouds(t *testing.T) {
	for _, tt := range []struct {
		name            string
		env             []string
		vertex, foundry string
		found           llm.Upstreams
		note            string
	}{
		{name: "nothing set", vertex: testBase + "/v1"},
		{
			name: "Vertex through a gateway", env: []string{"CLAUDE_CODE_USE_VERTEX=1", "ANTHROPIC_VERTEX_BASE_URL=https://g.example/vertex"},
			vertex: testBase, found: llm.Upstreams{llm.Vertex: "https://g.example/vertex"},
		},
		{
			name: "a resource of Foundry", env: []string{"CLAUDE_CODE_USE_FOUNDRY=1", "ANTHROPIC_FOUNDRY_RESOURCE=acme"},
			vertex: testBase + "/v1", foundry: testBase + "/anthropic", found: llm.Upstreams{llm.Azure: "https://acme.services.ai.azure.com/anthropic"},
		},
		{
			name: "a base URL of Foundry", env: []string{"ANTHROPIC_FOUNDRY_BASE_URL=https://g.example/anthropic/"},
			vertex: testBase + "/v1", foundry: testBase + "/anthropic", found: llm.Upstreams{llm.Azure: "https://g.example/anthropic/"},
		},
		{
			name: "Foundry at a path of another form", env: []string{"ANTHROPIC_FOUNDRY_BASE_URL=https://g.example/foundry"},
			vertex: testBase + "/v1", foundry: "https://g.example/foundry", note: "not redirected where it asks Foundry",
		},
		{name: "Bedrock", env: []string{"CLAUDE_CODE_USE_BEDROCK=1"}, vertex: testBase + "/v1", note: "signature covers the body"},
		{name: "no Bedrock", env: []string{"CLAUDE_CODE_USE_BEDROCK=0"}, vertex: testBase + "/v1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := place(t, tt.env...).Redirect([]string{"claude"}, testBase)
			if diff := cmp.Diff(tt.found, r.Found, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("found: %s", diff)
			}
			if diff := cmp.Diff([]string{tt.vertex, tt.foundry}, []string{r.variable("ANTHROPIC_VERTEX_BASE_URL"), r.variable("ANTHROPIC_FOUNDRY_BASE_URL")}); diff != "" {
				t.Errorf("environment: %s", diff)
			}
			if r.variable("ANTHROPIC_FOUNDRY_BASE_URL") != "" && r.variable("ANTHROPIC_FOUNDRY_RESOURCE") != "" {
				t.Error("the SDK refuses a base URL beside a resource")
			}
			if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
				t.Errorf("notes: %s", notes)
			}
			if slices.ContainsFunc(r.Env, func(s string) bool { return strings.Contains(s, "SKIP") }) {
				t.Errorf("the cloud's login is switched off: %v", r.Env)
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
		{"pi -p x", "pi", 0},
		{"npx @mariozechner/pi-coding-agent@0.73.1 -p x", "pi", 1},
		{"cline x", "cline", 0},
		{"npx opencode-ai run", "opencode", 1},
		{"cn -p x", "continue", 0},
		{"npx @continuedev/cli -p x", "continue", 1},
		{"claude codex", "claude", 0},
		{"npx -y @anthropic-ai/claude-code@2.1.300 -p x", "claude", 2},
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
		{"npm exec codex exec", "", 0}, // npm uses -c itself
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
		a, at := agentOf(strings.Fields(tt.command))
		name := ""
		if a != nil {
			name = a.name
		}
		if name != tt.name || at != tt.at {
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
			m := place(t)
			if tt.config != "" {
				write(t, filepath.Join(m.Home(), ".codex", "config.toml"), tt.config)
			}
			r := m.Redirect(tt.args, testBase)
			if diff := cmp.Diff(tt.want, r.Args); diff != "" {
				t.Errorf("arguments: %s", diff)
			}
			if r.Found[llm.Responses] != tt.found {
				t.Errorf("found %q, want %q", r.Found[llm.Responses], tt.found)
			}
		})
	}
}

// With a ChatGPT account Codex asks another server than with a key.
func TestRedirectCodexOfChatGPT(t *testing.T) {
	m := place(t)
	write(t, filepath.Join(m.Home(), ".codex", "auth.json"), `{"OPENAI_API_KEY": null, "tokens": {"id_token": "x"}}`)
	r := m.Redirect([]string{"codex"}, testBase)
	if diff := cmp.Diff([]string{"codex", "-c", `openai_base_url="` + testBase + `/v1"`}, r.Args); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(llm.Upstreams{llm.Chat: chatGPT, llm.Responses: "https://chatgpt.com/backend-api/codex"}, r.Found); diff != "" {
		t.Error(diff)
	}
}

func TestRedirectOpencode(t *testing.T) {
	const local = `{ // a comment
		"provider": {"local": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{env:WHERE}/v1", "apiKey": "k"},}}, /* and more */
		"model": "local/m"}`
	m := place(t, "WHERE=http://10.0.0.1:8080", `OPENCODE_CONFIG_CONTENT={"theme":"dark","provider":{"anthropic":{"options":{"timeout":5}}}}`)
	write(t, filepath.Join(m.Home(), ".config", "opencode", "opencode.json"), local)
	write(t, filepath.Join(m.Dir, "opencode.jsonc"),
		`{"provider": {"other": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "https://other.example/v1"}}}}`)
	r := m.Redirect([]string{"opencode", "run", "x"}, testBase)

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
	if diff := cmp.Diff(llm.Upstreams{llm.Chat: "http://10.0.0.1:8080/v1"}, r.Found); diff != "" {
		t.Errorf("found: %s", diff)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "provider other is not redirected") {
		t.Errorf("notes: %q", r.Notes)
	}

	r = m.Redirect([]string{"opencode", "run", "-m", "other/m", "x"}, testBase)
	if r.Found[llm.Chat] != "https://other.example/v1" {
		t.Errorf("the chosen model's provider does not come first: %q", r.Found[llm.Chat])
	}

	m.Env = append(m.Env, "OPENCODE_CONFIG_CONTENT=not json")
	r = m.Redirect([]string{"opencode"}, testBase)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not JSON") || r.variable("OPENCODE_CONFIG_CONTENT") != "not json" {
		t.Errorf("broken content: notes %q, content %q", r.Notes, r.variable("OPENCODE_CONFIG_CONTENT"))
	}
}

func TestRedirectContinue(t *testing.T) {
	m := place(t)
	file := filepath.Join(m.Home(), ".continue", "config.yaml")
	const config = "name: mine\nmodels:\n" +
		"  - name: one\n    provider: openai\n    apiBase: https://o.example/v1/\n    apiKey: k\n" +
		"  - name: two\n    provider: anthropic\n" +
		"  - name: three\n    provider: ollama\n" +
		"  - name: four\n    provider: openai\n    apiBase: https://else.example/v1\n"
	write(t, file, config)
	r := m.Redirect([]string{"cn", "-p", "x"}, testBase)
	if len(r.Notes) > 0 || len(r.Args) != 5 || r.Args[1] != "--config" {
		t.Fatalf("arguments %q, notes %q", r.Args, r.Notes)
	}
	b, err := os.ReadFile(r.Args[2])
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "apiBase: "+testBase+"/v1\n"); n != 2 {
		t.Errorf("%d models are redirected, want 2:\n%s", n, b)
	}
	if !strings.Contains(string(b), "https://else.example/v1") {
		t.Errorf("a model at another place is redirected too:\n%s", b)
	}
	want := llm.Upstreams{llm.Chat: "https://o.example/v1", llm.Responses: "https://o.example/v1"}
	if diff := cmp.Diff(want, r.Found); diff != "" {
		t.Errorf("found: %s", diff)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != config {
		t.Errorf("the person's own file has changed: %v\n%s", err, kept)
	}
	info, err := os.Stat(r.Args[2])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info.Mode(), err)
	}
	copied := r.Args[2]
	r.Clean()
	if _, err := os.Stat(copied); err == nil {
		t.Error("the copy is still there")
	}

	r = m.Redirect([]string{"cn", "--config=no/such.yaml"}, testBase)
	if len(r.Notes) != 1 || !slices.Equal(r.Args, []string{"cn", "--config=no/such.yaml"}) {
		t.Errorf("without a file: arguments %q, notes %q", r.Args, r.Notes)
	}
}

// Gemini CLI is redirected if its settings choose a key; otherwise a note says why it is not.
func TestRedirectGemini(t *testing.T) {
	const key = `{ // mine
		"security": {"auth": {"selectedType": "gemini-api-key"}}}`
	account := strings.Replace(key, "gemini-api-key", "oauth-personal", 1)
	for _, tt := range []struct {
		name, user, project, was string
		base, note               string
	}{
		{name: "a key", user: key, base: testBase},
		{name: "a key, and another server", user: key, was: "https://g.example/v1beta", base: testBase},
		{name: "the project goes first", user: account, project: key, base: testBase},
		{name: "an account", user: account, note: "it logs in by oauth-personal"},
		{name: "not said", note: "/auth"},
		{name: "not said, and another server", was: "https://g.example", base: testBase},
		{name: "not readable", user: "{", note: "/auth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := place(t, "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/none")
			if tt.was != "" {
				m.Env = append(m.Env, "GOOGLE_GEMINI_BASE_URL="+tt.was)
			}
			if tt.user != "" {
				write(t, filepath.Join(m.Home(), ".gemini", "settings.json"), tt.user)
			}
			if tt.project != "" {
				write(t, filepath.Join(m.Dir, ".gemini", "settings.json"), tt.project)
			}
			r := m.Redirect([]string{"npx", "@google/gemini-cli@0.61.0", "-p", "x"}, testBase)
			if got := r.variable("GOOGLE_GEMINI_BASE_URL"); got != tt.base {
				t.Errorf("base URL %q, want %q", got, tt.base)
			}
			if r.Found[llm.Gemini] != tt.was {
				t.Errorf("found %q", r.Found[llm.Gemini])
			}
			if note := strings.Join(r.Notes, "\n"); (note == "") != (tt.note == "") || !strings.Contains(note, tt.note) {
				t.Errorf("notes %q", note)
			}
		})
	}
	r := place(t).Redirect([]string{"qwen"}, testBase)
	if r.variable("GOOGLE_GEMINI_BASE_URL") != "" || len(r.Notes) > 0 {
		t.Errorf("other agents: %v %v", r.Env, r.Notes)
	}
}

func TestRedirectPi(t *testing.T) {
	const models = `{"providers": { // a comment
		"local": {"baseUrl": "http://10.0.0.1:8080/v1", "api": "openai-completions", "models": [{"id": "m"}]},
		"other": {"baseUrl": "https://other.example/v1", "api": "openai-completions"},
		"openai": {"baseUrl": "https://o.example/v1"}, "strange": {"baseUrl": "https://s.example", "api": "bedrock-converse-stream"},
	}}`
	for _, tt := range []struct {
		name, settings string
		args           []string
		chat           string
		left           string // the provider that is not redirected
	}{
		{"a flag", `{"defaultProvider": "local"}`, []string{"pi", "--provider", "other", "-p", "x"}, "https://other.example/v1", "local"},
		{"a model", "", []string{"pi", "--model", "local/m", "-p", "x"}, "http://10.0.0.1:8080/v1", "other"},
		{"the settings", `{"defaultProvider": "other"}`, []string{"pi"}, "https://other.example/v1", "local"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := place(t)
			write(t, filepath.Join(m.Home(), ".pi", "agent", "models.json"), models)
			write(t, filepath.Join(m.Dir, ".pi", "settings.json"), tt.settings)
			r := m.Redirect(tt.args, testBase)
			if len(r.Args) != len(tt.args)+2 || r.Args[1] != "--extension" || !slices.Equal(r.Args[3:], tt.args[1:]) {
				t.Fatalf("arguments: %q", r.Args)
			}
			want := llm.Upstreams{llm.Chat: tt.chat, llm.Responses: "https://o.example/v1"}
			if diff := cmp.Diff(want, r.Found); diff != "" {
				t.Errorf("found: %s", diff)
			}
			if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "provider "+tt.left+" is not redirected") {
				t.Errorf("notes: %q", r.Notes)
			}
			code, err := os.ReadFile(r.Args[2])
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{
				`pi.registerProvider("anthropic", {"baseUrl":"` + testBase + `"});`, `pi.registerProvider("openai", {"baseUrl":"` + testBase + `/v1"});`,
			} {
				if !strings.Contains(string(code), line) {
					t.Errorf("%s is not in\n%s", line, code)
				}
			}
			if strings.Contains(string(code), "strange") || strings.Contains(string(code), `"`+tt.left+`"`) {
				t.Errorf("what goes elsewhere is redirected:\n%s", code)
			}
			if r.Clean(); exists(r.Args[2]) {
				t.Error("the extension stays")
			}
		})
	}
	if r := place(t).Redirect([]string{"pi", "install", "npm:x"}, testBase); len(r.Args) != 3 {
		t.Errorf("a command of pi's own: %q", r.Args)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func TestRedirectCline(t *testing.T) {
	const file = `{"version": 1, "lastUsedProvider": "openai-compatible", "providers": {
		"openai-compatible": {"settings": {"provider": "openai-compatible", "apiKey": "k", "baseUrl": "http://10.0.0.1:8080/v1"}, "tokenSource": "manual"},
		"ollama": {"settings": {"provider": "ollama", "baseUrl": "http://10.0.0.2"}}}}`
	for _, tt := range []struct {
		name  string
		args  []string
		found llm.Upstreams
		want  map[string]string // base URLs
	}{
		{
			"the last used", []string{"cline", "look at it"}, llm.Upstreams{llm.Chat: "http://10.0.0.1:8080/v1"},
			map[string]string{"openai-compatible": testBase + "/v1", "ollama": "http://10.0.0.2"},
		},
		{
			"one of the command line", []string{"cline", "-P", "anthropic", "-k", "key", "look at it"}, llm.Upstreams{llm.Chat: "http://10.0.0.1:8080/v1"},
			map[string]string{"openai-compatible": testBase + "/v1", "ollama": "http://10.0.0.2", "anthropic": testBase + "/v1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := place(t)
			own := filepath.Join(m.Home(), ".cline", "data", "settings", "providers.json")
			write(t, own, file)
			r := m.Redirect(tt.args, testBase)
			if diff := cmp.Diff(tt.args, r.Args); diff != "" {
				t.Errorf("arguments: %s", diff)
			}
			if diff := cmp.Diff(tt.found, r.Found); diff != "" {
				t.Errorf("found: %s", diff)
			}
			if r.variable("CLINE_SESSION_BACKEND_MODE") != "local" {
				t.Error("a process in the background may ask the model")
			}
			copied, err := os.ReadFile(r.variable("CLINE_PROVIDER_SETTINGS_PATH"))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Providers map[string]struct {
					TokenSource string
					Settings    struct{ Provider, BaseURL, APIKey string }
				}
			}
			if err := json.Unmarshal(copied, &got); err != nil {
				t.Fatal(err)
			}
			bases := map[string]string{}
			for name, p := range got.Providers {
				if bases[name] = p.Settings.BaseURL; p.Settings.Provider != name {
					t.Errorf("%s: %+v", name, p)
				}
			}
			if diff := cmp.Diff(tt.want, bases); diff != "" {
				t.Errorf("base URLs: %s", diff)
			}
			if kept := got.Providers["openai-compatible"]; kept.Settings.APIKey != "k" || kept.TokenSource != "manual" {
				t.Errorf("of the entry is left: %+v", kept)
			}
			if text, _ := os.ReadFile(own); string(text) != file {
				t.Error("the agent's own file has changed")
			}
			if r.Clean(); exists(r.variable("CLINE_PROVIDER_SETTINGS_PATH")) {
				t.Error("the copy stays")
			}
		})
	}
	m := place(t, "CLINE_DATA_DIR=/nowhere")
	if r := m.Redirect([]string{"cline", "x"}, testBase); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "cannot be read") {
		t.Errorf("without a file: %q", r.Notes)
	}
	m = place(t)
	write(t, filepath.Join(m.Home(), ".cline", "data", "settings", "providers.json"), `{"providers":{"cline":{"settings":{"auth":{"refreshToken":"r"}}}}}`)
	if r := m.Redirect([]string{"cline", "x"}, testBase); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "login") || r.variable("CLINE_PROVIDER_SETTINGS_PATH") != "" {
		t.Errorf("with a login: %q", r.Notes)
	}
}

func TestRedirectCopilot(t *testing.T) {
	for kind, tt := range map[string]struct {
		was, want string
		found     []string
	}{
		"anthropic": {"https://a.example", testBase, []string{llm.Messages}},
		"azure":     {"https://acme.openai.azure.com", testBase, []string{llm.Azure}},
		"openai":    {"https://o.example/v1", testBase + "/v1", []string{llm.Chat, llm.Responses}},
		"":          {"http://10.0.0.1:8080", testBase, []string{llm.Chat, llm.Responses}},
	} {
		r := place(t, "COPILOT_PROVIDER_TYPE="+kind, "COPILOT_PROVIDER_BASE_URL="+tt.was).Redirect([]string{"npx", "@github/copilot", "-p", "x"}, testBase)
		want := llm.Upstreams{}
		for _, api := range tt.found {
			want[api] = tt.was
		}
		if diff := cmp.Diff(want, r.Found); diff != "" {
			t.Errorf("%s: found: %s", kind, diff)
		}
		if got := r.variable("COPILOT_PROVIDER_BASE_URL"); got != tt.want {
			t.Errorf("%s: base URL %s, want %s", kind, got, tt.want)
		}
	}
	if r := place(t).Redirect([]string{"copilot"}, testBase); len(r.Notes) != 1 || r.variable("COPILOT_PROVIDER_BASE_URL") != "" {
		t.Errorf("GitHub's models: %q", r.Notes)
	}
}

// Behind the forward proxy SSL_CERT_FILE stays as it is, because it replaces the system's certificates for all that the agent starts. Codex,
// which reads it, gets its certificates and the authority in a variable of its own. (SAME-3)
func TestForwardKeepsTheSystemsCertificates(t *testing.T) {
	own := filepath.Join(t.TempDir(), "company.pem")
	put(t, own, ownCertificate)
	for _, c := range []struct{ agent, set, node, codex string }{
		{"claude", "", "authority", ""},
		{"claude", own, "authority", ""},
		{"codex", "", "", "authority"},
		{"codex", own, "", ownCertificate + "authority"},
		{"sh", own, "authority", ownCertificate + "authority"}, // it may start any of them
	} {
		m := Machine{Env: []string{"HOME=" + t.TempDir()}}
		if c.set != "" {
			m.Env = append(m.Env, "SSL_CERT_FILE="+c.set)
		}
		r, err := m.Forward([]string{c.agent}, "http://127.0.0.1:4141", func(text []byte) (string, error) {
			file := filepath.Join(t.TempDir(), "trusted.pem")
			return file, os.WriteFile(file, append(text, "authority"...), 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := Machine{Env: r.Env}
		if is := got.Getenv("SSL_CERT_FILE"); is != c.set {
			t.Errorf("%s: SSL_CERT_FILE=%q became %q", c.agent, c.set, is)
		}
		for variable, want := range map[string]string{"NODE_EXTRA_CA_CERTS": c.node, "CODEX_CA_CERTIFICATE": c.codex} {
			text, _ := os.ReadFile(got.Getenv(variable)) // none has nothing
			if string(text) != want {
				t.Errorf("%s with SSL_CERT_FILE=%q: %s has %q, want %q", c.agent, c.set, variable, text, want)
			}
		}
	}
}

// ownCertificate has the form of a certificate.
const ownCertificate = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n"

// A file of certificates that an agent could not use does not take the authority from it, and the person reads what is wrong. (SAME-2)
func TestForwardWithBadCertificates(t *testing.T) {
	dir := t.TempDir()
	good, broken := filepath.Join(dir, "good.pem"), "-----BEGIN CERTIFICATE-----\nno base64\n-----END CERTIFICATE-----\n"
	for name, content := range map[string]string{
		"good.pem": ownCertificate, "empty.pem": "", "text.pem": "a company's", "damaged.pem": broken + ownCertificate + "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n",
		"key.pem": strings.ReplaceAll(ownCertificate, "CERTIFICATE", "PRIVATE KEY"),
	} {
		put(t, filepath.Join(dir, name), content)
	}
	for file, want := range map[string][2]string{ // the certificates, and what the note says
		good: {ownCertificate, ""}, "damaged.pem": {ownCertificate, ""}, "": {"", ""},
		"empty.pem": {"", "empty.pem has none in the form PEM"}, "text.pem": {"", "none in the form PEM"}, "key.pem": {"", "none in the form PEM"},
		"none.pem": {"", "no such file"}, dir: {"", "is a directory"},
	} {
		m := Machine{Env: []string{"HOME=" + dir, "NODE_EXTRA_CA_CERTS=" + file}, Dir: dir}
		var got string
		r, err := m.Forward([]string{"claude"}, "http://127.0.0.1:4141", func(text []byte) (string, error) { got = string(text); return "trusted", nil })
		if err != nil || got != want[0] || r.variable("NODE_EXTRA_CA_CERTS") != "trusted" {
			t.Errorf("%q: %v, %q", file, err, got)
		}
		if note := strings.Join(r.Notes, "\n"); (note == "") != (want[1] == "") || !strings.Contains(note, want[1]) {
			t.Errorf("%q: the note is %q", file, note)
		}
	}
}

// The person's own list of hosts without a proxy is kept in both spellings, in whichever it was.
func TestNoProxyIsKept(t *testing.T) {
	const also = ",127.0.0.1,localhost,::1"
	for env, want := range map[string][2]string{
		"": {also[1:], also[1:]}, "NO_PROXY=a.test": {"a.test" + also, "a.test" + also}, "no_proxy=a.test,b.test:8443": {"a.test,b.test:8443" + also, "a.test,b.test:8443" + also},
		"NO_PROXY=a.test no_proxy=10.0.0.0/8": {"a.test" + also, "10.0.0.0/8" + also}, "no_proxy=*": {"*", "*"}, "NO_PROXY=a.test" + also: {"a.test" + also, "a.test" + also},
	} {
		r := place(t, strings.Fields(env)...).Redirect([]string{"claude"}, testBase)
		if got := [2]string{r.variable("NO_PROXY"), r.variable("no_proxy")}; got != want {
			t.Errorf("%s: %q", env, got)
		}
	}
	// Behind the forward proxy, which refuses private addresses, they are reached directly, unless the person's own proxy may lead there.
	for env, want := range map[string]string{"NO_PROXY=a.test": "a.test" + also + "," + privateNetworks, "NO_PROXY=a.test https_proxy=http://p.test": "a.test" + also} {
		r, err := place(t, strings.Fields(env)...).Forward([]string{"codex"}, testBase, func([]byte) (string, error) { return "certificates", nil })
		if err != nil || r.variable("NO_PROXY") != want || r.variable("no_proxy") != want {
			t.Errorf("%s: %v, %q, %q", env, err, r.variable("NO_PROXY"), r.variable("no_proxy"))
		}
		if args := strings.Join(r.Args, " "); args != "codex -c features.daemon_auto_start=false" {
			t.Errorf("Codex may ask by a process that outlives it: %s", args)
		}
	}
}
