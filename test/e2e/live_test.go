package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/test/strictmodel"
)

// LIVE-1, LIVE-3: real agents work through stet, one after another, with one record. "stet savings --live" then shows what was left out,
// priced. At a limit the next prompt of each is refused: the agent shows the sentence, and does not send the request again. STET_SOAK and ALL=1
// have more of them.
func TestLiveDay(t *testing.T) {
	need(t)
	all := []agent{claudeCode("2.1.332"), codex}
	if os.Getenv("STET_SOAK") != "" || os.Getenv(envOthers) != "" {
		all = append(all, codexSocket, opencode("messages", "anthropic", bound), opencode("chat", "local", "scripted"), qwen("messages", "anthropic"), qwen("chat", "openai"),
			pi("messages", "anthropic", bound), pi("chat", "local", "scripted"), continueCLI("messages", "anthropic", bound), cline("messages", "anthropic", "claude-sonnet-4-5"), gemini)
	}
	if os.Getenv(envOthers) != "" {
		all = append(all, copilot("1.0.102"))
	}
	home := t.TempDir()
	settings := filepath.Join(home, ".config/stet/config.toml")
	requests := 0
	for _, a := range all {
		own, repo := places(t, a)
		model, err := strictmodel.Start(llmtest.Config{Script: script(repo)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = model.Close() }()
		prompt := func(number int, config string) (exit int, said string) {
			t.Helper()
			write(t, settings, config)
			proxy := startProcess(t, home, "--upstream", model.URL)
			env := append(environment(own), a.configure(t, own, proxy.url)...)
			command := a.command(own, prompts[number], number > 0)
			if command == nil { // it begins a new conversation
				command = a.command(own, prompts[number], false)
			}
			exit, said = run(t, repo, env, command)
			proxy.end(syscall.SIGTERM)
			return exit, said
		}
		if exit, said := prompt(0, ""); exit != 0 {
			t.Fatalf("%s: exit code %d: %s", a.name, exit, said)
		}
		before := len(model.Requests())
		requests += before
		limit, sentence := "tree", "stet: this conversation with its sub-agents has spent"
		if a.command(own, "", true) == nil || a.name == "qwen" { // its requests name no session, and begin otherwise after a resume
			limit, sentence = "day", "stet: today's requests have spent"
		}
		exit, said := prompt(1, "[limits]\n"+limit+" = \"1000 tokens\"\n")
		after := 0
		for _, r := range model.Requests()[before:] {
			if r.Method == "POST" && !strings.Contains(string(r.Body), `"request_kind\":\"prewarm`) { // that one asks for no answer
				after++
			}
		}
		shown := strings.Contains(strings.Join(strings.Fields(said), " "), sentence)
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

// says is the beginning of what a person reads of a prompt cache that has ended.
const says = "stet guard: the prompt cache ended at "

// cacheEnds records a request of a session whose prompt cache has ended since.
func cacheEnds(t *testing.T, g *guarded, session, model string) {
	t.Helper()
	records, err := store.Open(t.Context(), filepath.Join(g.home, ".local/state/stet/stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	row := record.Request{
		ID: "earlier", Time: time.Now().Add(-3 * time.Hour), Conversation: session, API: llm.Messages, Model: model, Status: 200,
		Usage: record.Usage{CacheRead: 160_000, CacheWrite: 2_000, CacheWrite1h: 2_000, Output: 500}, Cache: record.Cache{Lifetime: time.Hour},
	}
	if err := records.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
		t.Fatal(err)
	}
}

// LIVE-2: the person reads what the next request costs before it, and once: when a session goes on whose prompt cache has ended, and with the first
// prompt after that. STET_SOAK adds the prompt, and Codex.
func TestColdCacheIsSaid(t *testing.T) {
	need(t)
	const session = "5b9bd0a6-7f7c-4d5c-9a57-3a9e0d1f6b11"
	turns := scripted(llmtest.Say("The garden is watered."), llmtest.Say("The beds are weeded."))
	for _, atStart := range []bool{true, false} {
		if !atStart && os.Getenv("STET_SOAK") == "" {
			return
		}
		g := newGuarded(t, claudeInteractive, turns)
		said := "UserPromptSubmit says: " + says
		if atStart {
			said = "SessionStart:startup says: " + says
			cacheEnds(t, g, session, "claude-sonnet-4-5")
		}
		agent := openScreen(t, g.repo, g.env, []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--permission-mode", "default", "--session-id", session})
		agent.expect("for shortcuts")
		if atStart {
			agent.expect(said)
			if n := len(g.model.Requests()); n > 0 {
				t.Errorf("the model was asked %d times before the person said anything", n)
			}
		} else {
			cacheEnds(t, g, session, "claude-sonnet-4-5")
		}
		for _, c := range [][2]string{{"Water the garden", "The garden is watered."}, {"Weed the beds", "The beds are weeded."}} {
			agent.submits(c[0], func() bool { return strings.Contains(agent.shows(), c[1]) })
		}
		if shown := agent.shows(); strings.Count(shown, says) != 1 || !strings.Contains(shown, said) || !strings.Contains(shown, ": the next request costs about $") {
			t.Errorf("start %t: the screen shows\n%s", atStart, shown)
		}
	}
	g := newGuarded(t, codexInteractive, turns)
	g.trust()
	agent := openScreen(t, g.repo, g.env, []string{"codex", "--no-daemon", "Water the garden"})
	agent.expect("The garden is watered.")
	files, err := filepath.Glob(filepath.Join(g.home, ".codex/sessions/*/*/*/*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	name := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	cacheEnds(t, g, name[len(name)-36:], "gpt-5.5")
	agent.submits("Weed the beds", func() bool { return strings.Contains(agent.shows(), "The beds are weeded.") })
	if shown := agent.shows(); strings.Count(shown, says) != 1 {
		t.Errorf("Codex: the screen shows\n%s", shown)
	}
}

// LIVE-2: Gemini CLI and Qwen Code name no session in their requests, so stet does not know which of them belong to the session of a hook, and a hook
// cannot say the price of the next one. If a version names it, this test fails.
func TestSessionIsNotNamed(t *testing.T) {
	if os.Getenv("STET_SOAK") == "" && os.Getenv(envOthers) == "" {
		t.Skip("STET_SOAK is not set")
	}
	need(t)
	events := map[string]string{"gemini": "BeforeAgent", "qwen": "UserPromptSubmit"}
	for _, a := range []agent{gemini, qwen("messages", "anthropic"), qwen("chat", "openai")} {
		home, repo := places(t, a)
		model, err := strictmodel.Start(llmtest.Config{Script: script(repo)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = model.Close() }()
		env := append(environment(home), a.configure(t, home, model.URL)...)
		file, heard, settings := filepath.Join(home, "."+a.name, "settings.json"), filepath.Join(home, "heard.json"), map[string]any{}
		if err := json.Unmarshal([]byte(read(t, home, "."+a.name+"/settings.json")), &settings); err != nil {
			t.Fatal(err)
		}
		hook := map[string]any{"type": "command", "command": "cat > " + heard + "; echo '{}'"}
		settings["hooks"] = map[string]any{events[a.name]: []any{map[string]any{"hooks": []any{hook}}}}
		text, _ := json.Marshal(settings) // maps of strings always marshal
		write(t, file, string(text))
		if exit, said := run(t, repo, env, a.command(home, prompts[0], false)); exit != 0 {
			t.Fatalf("%s: exit code %d: %s", a.name, exit, said)
		}
		var hears struct {
			Session string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(read(t, home, "heard.json")), &hears); err != nil || hears.Session == "" || len(model.Requests()) == 0 {
			t.Fatalf("%s on %s: %v, %+v", a.name, a.wire, err, hears)
		}
		for _, r := range model.Requests() {
			if strings.Contains(fmt.Sprint(r.Header, string(r.Body)), hears.Session) {
				t.Errorf("%s on %s names its session in a request: the price of the next one can be said before it", a.name, a.wire)
			}
		}
	}
}

// LIVE-1: with a holdout, real agents work until both groups can be compared. The held out conversations go out as they came, with all their requests,
// and the same work costs less in the others.
func TestHoldoutDay(t *testing.T) {
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("STET_SOAK is not set")
	}
	need(t)
	home := t.TempDir()
	write(t, filepath.Join(home, ".config/stet/config.toml"), "holdout = 2\n")
	var work []func()
	for _, a := range []agent{claudeCode("2.1.332"), codex} {
		own, repo := places(t, a)
		model, err := strictmodel.Start(llmtest.Config{Script: script(repo)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = model.Close() }()
		proxy := startProcess(t, home, "--upstream", model.URL)
		defer proxy.end(syscall.SIGTERM)
		env := append(environment(own), a.configure(t, own, proxy.url)...)
		work = append(work, func() {
			git(t, repo, "checkout", "-q", ".")
			if exit, said := run(t, repo, env, a.command(own, prompts[0], false)); exit != 0 {
				t.Fatalf("%s: exit code %d: %s", a.name, exit, said)
			}
		})
	}
	type group struct{ Conversations, Requests, Errors int }
	var live struct {
		Holdout struct {
			Treated     group
			HeldOut     group `json:"held_out"`
			Differences []struct {
				What            string
				Treated         float64
				HeldOut         float64 `json:"held_out"`
				Low, High       float64
				Distinguishable bool
			}
		}
	}
	for n := 0; min(live.Holdout.Treated.Conversations, live.Holdout.HeldOut.Conversations) < 20; n++ {
		if n == 100 {
			t.Fatalf("after %d sessions the groups are too small: %+v", n, live)
		}
		work[n%len(work)]()
		if n < 38 {
			continue // both groups cannot be large enough
		}
		cmd := exec.Command(os.Getenv(envStet), "savings", "--live", "--json")
		cmd.Env, cmd.Dir = environment(home), home
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &live)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%+v", live)
	records, err := store.Open(t.Context(), filepath.Join(home, ".local/state/stet/stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	rows, err := records.Requests(t.Context(), record.Query{})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for i := range rows {
		r := &rows[i]
		if before, known := groups[r.Tree()]; known && before != r.Holdout {
			t.Errorf("%s is in the groups %q and %q", r.Tree(), before, r.Holdout)
		}
		groups[r.Tree()] = r.Holdout
		if r.Holdout == record.HeldOut && (r.Trimmed > 0 || r.BytesIn != r.BytesOut) {
			t.Errorf("something was left out of a held out request: %+v", r)
		}
	}
	for _, d := range live.Holdout.Differences {
		switch {
		case d.What == "cost of a request" && (d.Treated >= d.HeldOut || d.Low > d.High):
			t.Errorf("%+v", d)
		case d.What == "requests of a conversation" && d.Distinguishable: // the script asks for the same
			t.Errorf("%+v", d)
		}
	}
}
