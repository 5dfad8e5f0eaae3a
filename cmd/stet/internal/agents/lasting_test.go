package agents

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
)

const proxyBase = "http://127.0.0.1:4141"

// AddProxy changes nothing else in a file, and RemoveProxy restores the old values.
func TestPermanentProxy(t *testing.T) {
	tests := []struct{ name, agent, file, before, during, after string }{
		{"a new file", "claude", ".claude/settings.json", "", "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:4141\",\n    \"_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL\": \"1\"\n  }\n}\n", "{\n}\n"},
		{
			"beside others", "claude", ".claude/settings.json", "{\n  // mine\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n",
			"{\n  // mine\n  \"env\": {\n    \"A\": \"1\",\n    \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:4141\",\n    \"_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL\": \"1\"\n  }\n}\n", "",
		},
		{
			"what stood there", "claude", ".claude/settings.json", `{"env": {"ANTHROPIC_BASE_URL": "https://gateway.test/v1"}}`,
			`{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4141/stet/claude"}}`, "",
		},
		{"codex, a new file", "codex", ".codex/config.toml", "", "openai_base_url = \"http://127.0.0.1:4141/v1\"\n", ""},
		{
			"codex, before the first table", "codex", ".codex/config.toml", "# mine\r\nmodel = \"m\"\r\n[x] # y\r\na = 1\r\n",
			"openai_base_url = \"http://127.0.0.1:4141/v1\"\r\n# mine\r\nmodel = \"m\"\r\n[x] # y\r\na = 1\r\n", "",
		},
		{
			"codex, what stood there", "codex", ".codex/config.toml", "openai_base_url = 'https://gateway.test/v1' # mine\n",
			"openai_base_url = \"http://127.0.0.1:4141/stet/codex/v1\" # mine\n", "openai_base_url = \"https://gateway.test/v1\" # mine\n",
		},
		{
			"codex, another provider", "codex", ".codex/config.toml",
			"model_provider = \"p\"\n[model_providers.p]\nname = \"P\"\nbase_url = \"https://gateway.test/p\"\n[y]\n",
			"model_provider = \"p\"\n[model_providers.p]\nname = \"P\"\nbase_url = \"http://127.0.0.1:4141/stet/codex\"\n[y]\n", "",
		},
		{
			"codex, a provider without an address", "codex", ".codex/config.toml", "model_provider = \"p\"\n[model_providers.p]",
			"model_provider = \"p\"\n[model_providers.p]\nbase_url = \"http://127.0.0.1:4141/v1\"\n", "model_provider = \"p\"\n[model_providers.p]\n",
		},
		{
			"opencode", "opencode", ".config/opencode/opencode.json", `{"model": "x/y"}`,
			"{\"model\": \"x/y\",\n  \"provider\": {\n    \"anthropic\": {\n      \"options\": {\n        \"baseURL\": \"http://127.0.0.1:4141/v1\"\n      }\n    },\n" +
				"    \"openai\": {\n      \"options\": {\n        \"baseURL\": \"http://127.0.0.1:4141/v1\"\n      }\n    }\n  }\n}", "{\"model\": \"x/y\"\n}",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			m := Machine{Env: []string{"HOME=" + home}, Dir: home}
			file, state := filepath.Join(home, filepath.FromSlash(tt.file)), filepath.Join(home, "state", "setup.json")
			if tt.before != "" {
				put(t, file, tt.before)
			}
			if tt.after == "" {
				tt.after = tt.before
			}
			if _, err := m.AddProxy(tt.agent, proxyBase, state, true, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(state); err == nil || text(file) != tt.before {
				t.Error("a dry run wrote something")
			}
			for range 2 { // the second time changes nothing
				out, err := m.AddProxy(tt.agent, proxyBase, state, false, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.during, text(file)); diff != "" {
					t.Error(diff)
				}
				if out.Kept != "" && text(out.Kept) != tt.before {
					t.Errorf("the copy has %q", text(out.Kept))
				}
			}
			if m.Lasting, _ = ReadLasting(state); len(m.Lasting.Names()) != 1 {
				t.Error(m.Lasting)
			}
			if _, err := m.AddProxy(tt.agent, "http://127.0.0.1:5151", state, false, nil); err != nil {
				t.Fatal(err) // the address of the proxy has changed
			}
			if _, err := m.RemoveProxy(tt.agent, state, false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.before, text(file)); diff != "" {
				t.Error(diff)
			}
			if _, err := m.AddProxy(tt.agent, proxyBase, state, false, nil); err != nil {
				t.Fatal(err)
			}
			put(t, file, text(file)+"\n") // the file is not as stet wrote it: only the values are put back
			if _, err := m.RemoveProxy(tt.agent, state, false); err != nil {
				t.Fatal(err)
			}
			want := tt.after + "\n"
			if tt.before == "" {
				want = "" // with nothing left it is removed
			}
			if diff := cmp.Diff(want, text(file)); diff != "" {
				t.Error(diff)
			}
			if _, err := m.RemoveProxy(tt.agent, state, false); err == nil || !strings.Contains(err.Error(), "was not sent through the proxy") {
				t.Error(err)
			}
		})
	}
}

// Claude Code is sent through the forward proxy for good if it would lose something at a base URL, and else by a base URL. The other way
// and everything else is put back. (SAME-1)
func TestPermanentForward(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		env          []string
		forward      bool
	}{
		{"a new file", "", nil, true},
		{"what is there", `{"env": {"NO_PROXY": "a.test", "NODE_EXTRA_CA_CERTS": "own.pem"}, "model": "m"}`, nil, false},
		{"others", "{\n  \"env\": {\"A\": \"1\"}, \"x\": 1}", []string{"NO_PROXY=a.test", "NODE_EXTRA_CA_CERTS=own.pem"}, true},
		{"a gateway", `{"env": {"ANTHROPIC_BASE_URL": "https://gateway.test"}}`, nil, false},
		{"a gateway in the environment", "", []string{"ANTHROPIC_BASE_URL=https://gateway.test"}, false},
		{"a cloud", `{"env": {"CLAUDE_CODE_USE_VERTEX": "1"}}`, nil, false},
		{"another proxy", `{"env": {"https_proxy": "http://proxy.test"}}`, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			m := Machine{Env: append([]string{"HOME=" + home}, tt.env...), Dir: home}
			file, state := filepath.Join(home, ".claude", "settings.json"), filepath.Join(home, "setup.json")
			put(t, filepath.Join(home, "own.pem"), ownCertificate)
			if tt.before != "" {
				put(t, file, tt.before)
			}
			trust := filepath.Join(home, "trust.pem")
			trusting := func(own []byte) (string, error) { return trust, os.WriteFile(trust, append(own, " OURS"...), 0o600) }
			if _, err := m.AddProxy("claude", proxyBase, state, false, nil); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				out, err := m.AddProxy("claude", proxyBase, state, false, trusting)
				if err != nil || out.Forward != tt.forward {
					t.Fatal(err, out)
				}
				env := environment([]byte(text(file)))
				if got := env["HTTPS_PROXY"] == proxyBase && env["https_proxy"] == proxyBase && env["ANTHROPIC_BASE_URL"] == ""; got != tt.forward {
					t.Error(text(file))
				}
				if tt.env != nil && tt.forward && (text(trust) != ownCertificate+" OURS" || env["no_proxy"] != "a.test,127.0.0.1,localhost,::1") {
					t.Errorf("%s %v", text(trust), env)
				}
				m.Lasting, _ = ReadLasting(state)
				if changed, err := m.ProxyChanged("claude", m.Lasting); err != nil || len(changed) > 0 {
					t.Error(changed, err)
				}
				if m.ForwardHost([]string{"claude"}) != "" {
					t.Error("wrap would use another forward proxy")
				}
			}
			if _, err := m.RemoveProxy("claude", state, false); err != nil || text(file) != tt.before || text(trust) != "" {
				t.Errorf("%v: %q %q", err, text(file), text(trust))
			}
		})
	}
}

// pi keeps its message threads at a base URL by a setting, if its version has them and the person has not chosen.
func TestPermanentThreads(t *testing.T) {
	for _, tt := range []struct {
		version, before, during string
	}{
		{"1.5.2", "", `"supportsMessageThreads": true`},
		{"1.5.0", "", ""},
		{"1.5.2", `{"providers": {"anthropic": {"compat": {"supportsMessageThreads": false}}}}`, `"supportsMessageThreads": false`},
		{"1.5.2", `{"providers": {"anthropic": {"baseUrl": "https://gateway.test"}}}`, ""},
	} {
		home := t.TempDir()
		m := Machine{Env: []string{"HOME=" + home}, Dir: home, Version: func(string) string { return tt.version }}
		file, state := filepath.Join(home, ".pi", "agent", "models.json"), filepath.Join(home, "setup.json")
		if tt.before != "" {
			put(t, file, tt.before)
		}
		for range 2 {
			if _, err := m.AddProxy("pi", proxyBase, state, false, nil); err != nil {
				t.Fatal(err)
			}
			if got := text(file); !strings.Contains(got, proxyBase) || tt.during == "" && strings.Contains(got, "supports") || !strings.Contains(got, tt.during) {
				t.Errorf("%+v: %s", tt, got)
			}
		}
		put(t, file, text(file)+" ")
		if _, err := m.RemoveProxy("pi", state, false); err != nil || strings.Contains(text(file), proxyBase) || strings.Contains(text(file), "supports") != strings.Contains(tt.before, "supports") {
			t.Errorf("%+v: %v %s", tt, err, text(file))
		}
	}
}

// The forward proxy is the default for the versions of an agent that lose something at a base URL, where the agent asks its provider's host.
// (SAME-1)
func TestForwardHost(t *testing.T) {
	const anthropic, openai = "api.anthropic.com", "api.openai.com"
	qwen := []string{"OPENAI_BASE_URL=https://api.openai.com/v1"}
	for _, tt := range []struct {
		command, version string
		env              []string
		file, text       string
		upstream, want   string
	}{
		{command: "claude", want: anthropic},
		{command: "npx -y @anthropic-ai/claude-code@2.1.300 -p x", want: anthropic},
		{command: "claude", upstream: "https://gateway.test"},
		{command: "claude", file: ".claude/settings.json", text: `{"env": {"HTTPS_PROXY": "http://proxy.test"}}`},
		{command: "codex exec x"},
		{command: "opencode run"},
		{command: "sh -c claude"},
		{command: "pi --model anthropic/claude-sonnet-4-5 -p x", version: "1.5.2", want: anthropic},
		{command: "pi --model anthropic/claude-sonnet-4-5", version: "1.5.0"},
		{command: "pi --model openai/gpt-5.5", version: "1.5.2"},
		{command: "pi", version: "1.5.2"}, // which provider it asks is not known
		{command: "pi", version: "1.5.2", file: ".pi/agent/settings.json", text: `{"defaultProvider": "anthropic"}`, want: anthropic},
		{command: "pi", version: "1.5.2", file: ".pi/agent/settings.json", text: `{"defaultProvider": "anthropic", "httpProxy": "http://proxy.test"}`},
		{command: "pi --provider anthropic", file: ".pi/agent/models.json", text: `{"providers": {"anthropic": {"baseUrl": "https://gateway.test"}}}`},
		{command: "pi --provider anthropic", version: "1.5.2", upstream: "http://127.0.0.1:1"},
		{command: "qwen -p x", version: "0.24.4", env: qwen, want: openai},
		{command: "qwen -p x", version: "0.15.10", env: qwen},
		{command: "qwen -p x", version: "0.24.4"},
		{command: "qwen -p x", version: "0.24.4", env: []string{"OPENAI_BASE_URL=https://gateway.test/v1"}},
		{command: "qwen --openai-base-url https://gateway.test", version: "0.24.4", env: qwen},
		{command: "qwen --auth-type anthropic", version: "0.24.4", env: qwen},
		{command: "qwen", version: "0.24.4", env: qwen, file: ".qwen/settings.json", text: `{"modelProviders": {"openai": []}}`},
		{command: "qwen", version: "0.24.4", env: qwen, file: ".qwen/settings.json", text: `{"security": {"auth": {"selectedType": "openai"}}}`, want: openai},
	} {
		home := t.TempDir()
		m := Machine{Env: append([]string{"HOME=" + home}, tt.env...), Dir: t.TempDir(), Version: func(string) string { return tt.version }}
		if tt.file != "" {
			put(t, filepath.Join(home, filepath.FromSlash(tt.file)), tt.text)
		}
		if tt.upstream != "" {
			m.Upstream = func(string, string) string { return tt.upstream }
		}
		if got := m.ForwardHost(strings.Fields(tt.command)); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// A file that cannot be changed safely is an error, and nothing is written.
func TestPermanentProxyIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ agent, file, text, want string }{
		"no URL":     {"claude", ".claude/settings.json", `{"env": {"ANTHROPIC_BASE_URL": "gateway.test"}}`, "is not a base URL"},
		"a password": {"claude", ".claude/settings.json", `{"env": {"ANTHROPIC_BASE_URL": "https://a:b@gateway.test"}}`, "has a user name"},
		"no JSON":    {"claude", ".claude/settings.json", `{`, "nothing was written"},
		"no string":  {"claude", ".claude/settings.json", `{"env": {"ANTHROPIC_BASE_URL": 1}}`, "is not a string"},
		"no object":  {"claude", ".claude/settings.json", `{"env": 1}`, "env is there already: it holds no settings"},
		"one line":   {"codex", ".codex/config.toml", "model_provider = \"p\"\nmodel_providers = {p = {name = \"P\"}}\n", "change it by hand"},
		"no TOML":    {"codex", ".codex/config.toml", "a = [\n", "nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			m := Machine{Env: []string{"HOME=" + home}, Dir: home}
			file, state := filepath.Join(home, filepath.FromSlash(tt.file)), filepath.Join(home, "setup.json")
			put(t, file, tt.text)
			_, err := m.AddProxy(tt.agent, proxyBase, state, false, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 || text(file) != tt.text {
				t.Errorf("%v, %s", left, text(file))
			}
			if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}

// The proxy forwards an agent's requests to the server that the agent asked before.
func TestAskedBefore(t *testing.T) {
	const gateway, login = "https://gateway.test", `{"OPENAI_API_KEY": null, "tokens": {"id_token": "x"}}`
	tests := []struct {
		name, agent, file, text string
		env                     []string
		base                    string // the base URL that the agent gets
		want                    llm.Upstreams
	}{
		{"the provider", "codex", ".codex/auth.json", `{"OPENAI_API_KEY": "k", "tokens": null}`, nil, proxyBase + "/v1", llm.Upstreams{}},
		{"a file that is no login", "codex", ".codex/auth.json", `{`, nil, proxyBase + "/v1", llm.Upstreams{}},
		{
			"an account of ChatGPT", "codex", ".codex/auth.json", login, nil, proxyBase + "/stet/codex/v1",
			llm.Upstreams{llm.Chat: "https://chatgpt.com/backend-api/codex", llm.Responses: "https://chatgpt.com/backend-api/codex"},
		},
		{
			"a gateway, with an account", "codex", ".codex/config.toml", `openai_base_url = "` + gateway + `/v1"`, nil, proxyBase + "/stet/codex/v1",
			llm.Upstreams{llm.Chat: gateway + "/v1", llm.Responses: gateway + "/v1"},
		},
		{"the environment", "claude", "x", "", []string{"ANTHROPIC_BASE_URL=" + gateway}, proxyBase + "/stet/claude", llm.Upstreams{llm.Messages: gateway}},
		{"the proxy in the environment", "claude", "x", "", []string{"ANTHROPIC_BASE_URL=http://localhost:4141"}, proxyBase, llm.Upstreams{}},
		{
			"the proxy by hand", "claude", ".claude/settings.json", `{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4141/"}}`, nil, proxyBase, llm.Upstreams{},
		},
		{
			"a variable", "opencode", ".config/opencode/opencode.json", `{"provider": {"anthropic": {"options": {"baseURL": "{env:GATE}/v1"}}}}`,
			[]string{"GATE=" + gateway}, proxyBase + "/stet/opencode/v1", llm.Upstreams{llm.Messages: gateway + "/v1"},
		},
		{
			"other providers, and one more of the same API", "opencode", ".config/opencode/opencode.json",
			`{"model": "b/m", "provider": {"a": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://a.test"}},
				"b": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://b.test"}}, "c": {"npm": "other", "options": {"baseURL": "http://c.test"}}}}`,
			nil, proxyBase + "/stet/opencode", llm.Upstreams{llm.Chat: "http://b.test"},
		},
		{
			"providers of pi", "pi", ".pi/agent/models.json", `{"providers": {"anthropic": {"baseUrl": "` + gateway + `"}, "x": {"api": "openai-completions", "baseUrl": "http://x.test/v1"}}}`,
			nil, proxyBase + "/stet/pi", llm.Upstreams{llm.Messages: gateway, llm.Chat: "http://x.test/v1"},
		},
		{
			"a provider of Cline", "cline", ".cline/data/settings/providers.json",
			`{"lastUsedProvider": "anthropic", "providers": {"anthropic": {"settings": {"provider": "anthropic"}}, "cline": {"settings": {}}}}`,
			nil, proxyBase + "/v1", llm.Upstreams{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			m := Machine{Env: append([]string{"HOME=" + home}, tt.env...), Dir: home}
			state := filepath.Join(home, "setup.json")
			put(t, filepath.Join(home, filepath.FromSlash(tt.file)), tt.text)
			for range 2 {
				if _, err := m.AddProxy(tt.agent, proxyBase, state, false, nil); err != nil {
					t.Fatal(err)
				}
				all, err := ReadLasting(state)
				if diff := cmp.Diff(tt.want, all.Asked(tt.agent)); diff != "" || err != nil {
					t.Errorf("%v %s", err, diff)
				}
				if got := all[tt.agent].Values[0].Ours; got != tt.base {
					t.Errorf("the agent asks at %s, want %s", got, tt.base)
				}
			}
			if _, err := m.AddProxy(tt.agent, "http://127.0.0.1:5151", state, false, nil); err != nil {
				t.Fatal(err)
			}
			if all, _ := ReadLasting(state); !cmp.Equal(tt.want, all.Asked(tt.agent)) || strings.Contains(text(all[tt.agent].File), proxyBase) {
				t.Errorf("the proxy is elsewhere now: %v, %s", all.Asked(tt.agent), text(all[tt.agent].File))
			}
		})
	}
}

// A person who chooses another provider sets the agent up again. Then all old values are restored.
func TestProxyForAnotherProvider(t *testing.T) {
	home := t.TempDir()
	m := Machine{Env: []string{"HOME=" + home}, Dir: home}
	file, state := filepath.Join(home, ".codex", "config.toml"), filepath.Join(home, "setup.json")
	add := func() {
		t.Helper()
		if _, err := m.AddProxy("codex", proxyBase, state, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	const other = "model_provider = \"p\"\n[model_providers.p]\nbase_url = \"https://p.test/v1\"\n"
	add()
	put(t, file, text(file)+other)
	add()
	if n := strings.Count(text(file), proxyBase); n != 2 {
		t.Errorf("%d addresses of the proxy in\n%s", n, text(file))
	}
	elsewhere := Machine{Env: append(m.Env, "CODEX_HOME="+t.TempDir()), Dir: home}
	if _, err := elsewhere.AddProxy("codex", proxyBase, state, false, nil); err == nil || !strings.Contains(err.Error(), "take that out first") {
		t.Errorf("another file: %v", err)
	}
	if _, err := elsewhere.RemoveProxy("codex", state, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other, text(file)); diff != "" {
		t.Error(diff)
	}
}

// A value that a person changed since stays.
func TestPermanentProxyWasChanged(t *testing.T) {
	home := t.TempDir()
	m := Machine{Env: []string{"HOME=" + home}, Dir: home}
	file, state := filepath.Join(home, ".claude", "settings.json"), filepath.Join(home, "setup.json")
	if _, err := m.AddProxy("claude", proxyBase, state, false, nil); err != nil {
		t.Fatal(err)
	}
	const mine = `{"env": {"ANTHROPIC_BASE_URL": "https://mine.test"}}`
	put(t, file, mine)
	out, err := m.RemoveProxy("claude", state, false)
	if err != nil || !strings.Contains(out.Note, "was changed since") || text(file) != mine {
		t.Errorf("%+v, %v: %s", out, err, text(file))
	}
}

// A run under wrap asks the server that the agent asked before it was sent through the proxy permanently.
func TestRedirectOfProxied(t *testing.T) {
	home := t.TempDir()
	m := Machine{Env: []string{"HOME=" + home}, Dir: home}
	state := filepath.Join(home, "setup.json")
	put(t, filepath.Join(home, ".codex", "config.toml"), "openai_base_url = \"https://gateway.test/v1\"\n")
	put(t, filepath.Join(home, ".cline", "data", "settings", "providers.json"), `{"lastUsedProvider": "anthropic", "providers": {"anthropic": {"settings": {}}}}`)
	for _, agent := range ProxyAgents() {
		if _, err := m.AddProxy(agent, proxyBase, state, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	m.Lasting, _ = ReadLasting(state)
	r := m.Redirect([]string{"codex", "exec"}, "http://127.0.0.1:9")
	if diff := cmp.Diff(llm.Upstreams{llm.Chat: "https://gateway.test/v1", llm.Responses: "https://gateway.test/v1"}, r.Found); diff != "" {
		t.Error(diff)
	}
	if want := `openai_base_url="http://127.0.0.1:9/v1"`; len(r.Args) != 4 || r.Args[2] != want {
		t.Error(r.Args)
	}
	if r = m.Redirect([]string{"opencode", "run"}, "http://127.0.0.1:9"); len(r.Found) > 0 || len(r.Notes) > 0 {
		t.Error(r.Found)
	}
	if r = m.Redirect([]string{"claude"}, "http://127.0.0.1:9"); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], proxyBase) {
		t.Error(r.Notes)
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(b)
}
