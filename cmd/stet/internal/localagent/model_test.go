package localagent

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/openai"
)

// Flags, the environment and the model's name decide about the model and its endpoint.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		args, env []string
		base      string // of the client
		kind      string
		bad       string
	}{
		{args: []string{"--model", "claude-sonnet-4-5"}, env: []string{"ANTHROPIC_API_KEY=k"}, base: anthropic.API.Upstream, kind: "messages"},
		{args: []string{"--model", "gpt-5"}, env: []string{"OPENAI_API_KEY=k"}, base: openai.ChatAPI.Upstream, kind: "responses"},
		{args: []string{"--model", "gpt-5", "--api", "chat"}, env: []string{"OPENAI_API_KEY=k"}, base: openai.ChatAPI.Upstream, kind: "chat"},
		{env: []string{"STET_MODEL=own", "STET_BASE_URL=http://127.0.0.1:8000/v1"}, base: "http://127.0.0.1:8000/v1", kind: "chat"},
		{args: []string{"--model", "claude-sonnet-4-5", "--base-url", "http://127.0.0.1:1"}, base: "http://127.0.0.1:1", kind: "messages"},
		{args: []string{"--model", "own"}, bad: "\"own\" is not known"},
		{args: []string{"--model", "gpt-5"}, bad: "OPENAI_API_KEY"},
		{args: []string{"--model", "gpt-5", "--api", "soap"}, bad: `unknown value "soap": choose messages`},
		{bad: "name a model"},
	} {
		env := map[string]string{}
		for _, v := range c.env {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		getenv := func(name string) string { return env[name] }
		flags := pflag.NewFlagSet("chat", pflag.ContinueOnError)
		config.AddFlags(flags, "model", "base-url", "api")
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		var got llm.Model
		var m Model
		given, err := config.Load(config.Source{Dir: t.TempDir(), Getenv: getenv, Flags: flags})
		if err == nil {
			m, err = ChooseModel(given)
		}
		if err == nil {
			got, _, err = m.Open(getenv)
		}
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%q %q: %v", c.args, c.env, err)
			}
			continue
		}
		kind, base := "", ""
		under, _ := got.(advising)
		if m, ok := under.Model.(endpoint.Client); ok {
			kind, base = m.API.Name, m.Config.BaseURL
		}
		if err != nil || kind != c.kind || base != c.base {
			t.Errorf("%q %q: %s at %s, %v", c.args, c.env, kind, base, err)
		}
	}
}
