package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

var sdkScript = llmtest.Script{Turns: []llmtest.Turn{
	{
		Thinking: "The row must be looked up first.", Text: "I look it up.",
		Do: []llmtest.Action{llmtest.Call("lookup", `{"row":"row 41","note":"ümlaut 日本 🌱"}`)},
	},
	llmtest.Say("Row 41 has one plant: 日本 🌱"),
}}

// TestSDKs runs a script for each npm SDK, directly with the model and under "stet wrap". The SDK must get the same answers,
// streams, tool calls and errors, and the model must get the same requests.
func TestSDKs(t *testing.T) {
	need(t)
	scripts, err := filepath.Glob("../sdk/js/*.mjs")
	if err != nil || len(scripts) < 5 {
		t.Fatalf("scripts: %v, %v", scripts, err)
	}
	for _, script := range scripts { // node looks for packages in the script's directory
		data, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(os.Getenv(envSDKs), filepath.Base(script)), string(data))
	}
	for _, name := range []string{"openai-chat", "openai-responses", "anthropic", "ai"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := strictmodel.New(sdkScript)
			t.Cleanup(func() { _ = model.Close() })
			script := filepath.Join(os.Getenv(envSDKs), name+".mjs")
			straight := node(t, model.URL, script)
			asked := model.Requests()
			wrapped := node(t, model.URL, script, os.Getenv(envStet), "wrap", "--")
			if !strings.Contains(straight, "Row 41 has one plant: 日本 🌱") || strings.Count(straight, "\n") < 15 {
				t.Errorf("the SDK says:\n%s", straight)
			}
			a, b := strings.Split(straight, "\n"), strings.Split(wrapped, "\n")
			if len(a) != len(b) {
				t.Fatalf("%d scenarios straight, %d with stet:\n%s", len(a), len(b), wrapped)
			}
			for i := range a {
				if a[i] != b[i] {
					t.Errorf("straight:  %s\nwith stet: %s", a[i], b[i])
				}
			}
			untouched(t, asked, model.Requests()[len(asked):])
			t.Logf("%d scenarios, %d requests each way", len(a)-1, len(asked))
		})
	}
}

// node runs a script and returns its standard output.
func node(t *testing.T, model, script string, before ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := append(before, "node", script)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(environment(t.TempDir()), "ANTHROPIC_BASE_URL="+model, "OPENAI_BASE_URL="+model+"/v1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(script), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
