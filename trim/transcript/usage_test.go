package transcript

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// BILL-2: Codex says the tier of later requests when its settings change.
func TestCodexTier(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rollout-a.jsonl")
	usage := func(n string) string {
		return `{"type":"event_msg","timestamp":"2026-11-20T10:0` + n + `:00Z","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":` + n + `00},"last_token_usage":{"input_tokens":100}}}}` + "\n"
	}
	tier := func(word string) string {
		return `{"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"service_tier":"` + word + `"}}}` + "\n"
	}
	text := codexHead + "\n" + codexUser + "\n" + usage("1") + tier("priority") + usage("2") + tier("fast") + usage("3") + tier("default") + usage("4")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Opener{}.Open(file)
	if err != nil || len(all) != 1 || len(all[0].Answers) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []string{"", llm.TierPriority, llm.TierPriority, ""} {
		if got := all[0].Answers[i].Usage; got.Tier != want || got.Input != 100 {
			t.Errorf("answer %d: %+v", i, got)
		}
	}
}
