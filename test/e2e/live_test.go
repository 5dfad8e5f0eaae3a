package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// LIVE-1, LIVE-3: real agents work through stet, one after another, with one record. "stet savings --live" then shows what was left out,
// priced. At a cap the next prompt of each is refused: the agent shows the sentence, and does not send the request again. STET_SOAK
// has more of them.
func TestLiveDay(t *testing.T) {
	need(t)
	all := []agent{claudeCode("2.1.332"), codex}
	if os.Getenv("STET_SOAK") != "" {
		all = append(all, codexSocket, opencode("messages", "anthropic", bound), opencode("chat", "local", "scripted"), qwen("messages", "anthropic"), pi("messages", "anthropic", bound))
	}
	home := t.TempDir()
	settings := filepath.Join(home, ".config/stet/config.toml")
	requests := 0
	for _, a := range all {
		own, repo := places(t, a)
		model, err := llmtest.Start(llmtest.Config{Script: script(repo)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = model.Close() }()
		prompt := func(number int, config string) (exit int, said string) {
			t.Helper()
			write(t, settings, config)
			proxy := startProcess(t, home, "--upstream", model.URL)
			env := append(environment(own), a.configure(t, own, proxy.url)...)
			exit, said = run(t, repo, env, a.command(own, prompts[number], number > 0))
			proxy.end(syscall.SIGTERM)
			return exit, said
		}
		if exit, said := prompt(0, ""); exit != 0 {
			t.Fatalf("%s: exit code %d: %s", a.name, exit, said)
		}
		before := len(model.Requests())
		requests += before
		exit, said := prompt(1, "[limits]\ntree = \"1000 tokens\"\n")
		after := 0
		for _, r := range model.Requests()[before:] {
			if r.Method == "POST" {
				after++
			}
		}
		shown := strings.Contains(said, "stet: this conversation with its sub-agents has spent")
		t.Logf("%s on %s: at the cap exit code %d, the sentence is shown: %t, %d requests got through", a.name, a.wire, exit, shown, after)
		if exit == 0 || !shown || after != 0 {
			t.Errorf("%s on %s: %s", a.name, a.wire, said)
		}
	}
	cmd := exec.Command(os.Getenv(envStet), "savings", "--live", "--json")
	cmd.Env, cmd.Dir = environment(home), home
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var live struct {
		Conversations, Requests int
		USD, Without            float64
		Caps                    []struct {
			Refused int
			Client  string
		}
	}
	if err := json.Unmarshal(out, &live); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d conversations, %d requests, charged $%.4f, $%.4f without stet", live.Conversations, live.Requests, live.USD, live.Without)
	if live.Conversations < len(all) || live.Requests < 8*len(all) || live.Without <= live.USD || len(live.Caps) != len(all) {
		t.Errorf("%s", out)
	}
	for _, c := range live.Caps { // Codex opens another socket, and tries once again
		if c.Refused == 0 || c.Refused > 2 {
			t.Errorf("%s: %d requests were refused", c.Client, c.Refused)
		}
	}
}
