package proxy_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// A request in the form of Copilot CLI's, made by hand. Its tool view shows lines without numbers, and read_bash shows what a
// command has printed so far. What was shown before is left out, and nothing else.
func TestCopilot(t *testing.T) {
	body, err := os.ReadFile("testdata/copilot.json")
	if err != nil {
		t.Fatal(err)
	}
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Bold} })
	if status, answer := r.post("/v1/messages", string(body)); status != 200 {
		t.Fatal(status, answer)
	}
	was, is := resultsOf(t, body), resultsOf(t, up.last(t).body)
	const again = "toolu_04"
	if !strings.Contains(is[again], "[stet: ") || strings.Contains(is[again], "func Row17") {
		t.Errorf("what was shown already is not shortened: %s", is[again])
	}
	delete(was, again)
	delete(is, again)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error(diff)
	}
}

// resultsOf returns the texts of the results in a body, by the id of the call.
func resultsOf(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var request struct {
		Messages []struct {
			Content []struct {
				ToolUseID string `json:"tool_use_id"`
				Content   string
			}
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range request.Messages {
		for _, p := range m.Content {
			if p.ToolUseID != "" {
				out[p.ToolUseID] = p.Content
			}
		}
	}
	return out
}
