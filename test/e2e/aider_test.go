package e2e

import (
	"os/exec"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// TestAider runs aider with the same edit twice: directly with the model, and under "stet wrap". aider has no tools, so nothing
// is left out of its requests. The test checks that requests and answers arrive. aider comes from PyPI (aider-chat, 700 MB); the
// test runs only if it is installed.
func TestAider(t *testing.T) {
	need(t)
	if _, err := exec.LookPath("aider"); err != nil {
		t.Skip("aider is not installed")
	}
	const edit = bedsFile + "\n```python\n<<<<<<< SEARCH\n" + oldLevel + "\n=======\n" + newLevel + "\n>>>>>>> REPLACE\n```\n"
	for wire, a := range map[string]struct{ model, key, base, version string }{
		"messages": {"anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE", ""},
		"chat":     {"openai/scripted", "OPENAI_API_KEY", "OPENAI_API_BASE", "/v1"},
	} {
		t.Run(wire, func(t *testing.T) {
			play := func(through route) (exit int, diff, output string, received []llmtest.Request) {
				home, repo := places(t, agent{name: "aider", wire: wire})
				model := strictmodel.New(llmtest.Script{Root: repo, Turns: []llmtest.Turn{llmtest.Say(edit)}})
				t.Cleanup(func() { _ = model.Close() })
				base, before := through(t, home, model.URL)
				env := append(environment(home), a.key+"="+key, a.base+"="+base+a.version, "LITELLM_LOCAL_MODEL_COST_MAP=True")
				exit, output = run(t, repo, env, append(before, "aider", "--model", a.model, "--edit-format", "diff", "--yes-always", "--no-auto-commits",
					"--no-check-update", "--no-analytics", "--no-show-model-warnings", "--no-stream", "--no-gitignore", "--map-tokens", "0",
					"--message", "Raise the watering level.", bedsFile))
				return exit, git(t, repo, "diff", "--", bedsFile), output, model.Requests()
			}
			exit, diff, output, received := play(direct)
			if exit != 0 || diff == "" || len(received) == 0 || received[0].Wire != wire {
				t.Fatalf("exit code %d, diff %q after %d requests:\n%s", exit, diff, len(received), output)
			}
			exit, wrapped, output, again := play(wrap)
			if exit != 0 || wrapped != diff || len(again) != len(received) {
				t.Errorf("under stet: exit code %d, %d requests, not %d, diff\n%s\nnot\n%s\n%s", exit, len(again), len(received), wrapped, diff, output)
			}
		})
	}
}
