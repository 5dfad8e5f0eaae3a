package sdks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

const (
	envTranscript = "STET_SDK_TRANSCRIPT" // set in the child: the file for its transcript
	envModel      = "STET_SDK_MODEL"      // set in the child: the address of the model, which it must not use directly
	question      = "How many plants are in row 41?"
	found         = "row 41: one plant, 7 litres — 日本 🌱"
	key           = "dummy"
)

var script = llmtest.Script{Turns: []llmtest.Turn{
	{
		Thinking: "The row must be looked up first.", Text: "I look it up.",
		Do: []llmtest.Action{llmtest.Call("lookup", `{"row":"row 41","note":"ümlaut 日本 🌱"}`)},
	},
	llmtest.Say("Row 41 has one plant: 日本 🌱"),
}}

var schema = map[string]any{"row": map[string]any{"type": "string"}, "note": map[string]any{"type": "string"}}

// faults are errors of one request that the model is asked to make.
var faults = []struct{ name, header string }{
	{"429", "status=429&retry-after=7"},
	{"500", "status=500"},
	{"529", "status=529"},
	{"400 of its own", `status=400&body={"error":{"message":"no such thing","type":"odd","param":"x","code":"c1"}}`},
	{"cut in mid-stream", "cut=4&pause=20ms"},
	{"error in mid-stream", "error=4"},
}

// transcript collects what the SDKs returned, one line for each scenario.
type transcript struct{ lines []string }

func (t *transcript) add(name string, value any, err error) {
	line := map[string]any{"name": name, "value": value}
	if err != nil {
		line["error"] = err.Error()
	}
	b, err := json.Marshal(line)
	if err != nil {
		panic(err) // the values can always be encoded
	}
	t.lines = append(t.lines, string(b))
}

// record plays every scenario with the model at base (without /v1).
func record(ctx context.Context, base string) []string {
	var t transcript
	anthropicScenarios(ctx, base, &t)
	chatScenarios(ctx, base, &t)
	responsesScenarios(ctx, base, &t)
	for i, line := range t.lines { // error texts contain the URL
		t.lines[i] = strings.ReplaceAll(line, base, "http://model")
	}
	return t.lines
}

func TestSDKs(t *testing.T) {
	if file := os.Getenv(envTranscript); file != "" {
		base := os.Getenv("ANTHROPIC_BASE_URL")
		if base == os.Getenv(envModel) {
			t.Fatal("stet wrap has not set ANTHROPIC_BASE_URL")
		}
		lines := record(t.Context(), base)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	model, err := strictmodel.Start(llmtest.Config{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })

	direct := record(t.Context(), model.URL)
	asked := model.Requests()
	all := strings.Join(direct, "\n")
	for _, want := range []string{"Row 41 has one plant: 日本 🌱", "429 Too Many Requests", "529", "Overloaded", "no such thing"} {
		if !strings.Contains(all, want) {
			t.Errorf("no SDK says %q", want)
		}
	}
	through := wrapped(t, model.URL)
	for i := range max(len(direct), len(through)) {
		switch {
		case i >= len(direct) || i >= len(through):
			t.Fatalf("%d scenarios straight, %d through stet", len(direct), len(through))
		case direct[i] != through[i]:
			t.Errorf("straight:     %s\nthrough stet: %s", direct[i], through[i])
		}
	}
	sameRequests(t, asked, model.Requests()[len(asked):])
	t.Logf("%d scenarios, %d requests each way", len(direct), len(asked))
}

// sameRequests checks that the model received the same bytes both times. No scenario has anything that stet leaves out.
func sameRequests(t *testing.T, a, b []llmtest.Request) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d requests straight, %d through stet", len(a), len(b))
	}
	for i := range a {
		if a[i].Path != b[i].Path || a[i].Query != b[i].Query || !bytes.Equal(a[i].Body, b[i].Body) {
			t.Errorf("request %d: %s?%s\n%s\nbecame %s?%s\n%s", i, a[i].Path, a[i].Query, a[i].Body, b[i].Path, b[i].Query, b[i].Body)
		}
		for _, name := range []string{"Authorization", "X-Api-Key", "Anthropic-Version", "Anthropic-Beta", "User-Agent", "Content-Type"} {
			if got, want := b[i].Header.Values(name), a[i].Header.Values(name); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("request %d: %s %q became %q", i, name, want, got)
			}
		}
	}
}

// wrapped runs this test again under "stet wrap", and returns its transcript.
func wrapped(t *testing.T, model string) []string {
	t.Helper()
	dir := t.TempDir()
	stet := os.Getenv("STET_E2E_STET") // a binary to test instead of this checkout's
	if stet == "" {
		stet = filepath.Join(dir, "stet")
		build := exec.Command("go", "build", "-o", stet, "./cmd/stet")
		build.Dir = "../../.."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build stet: %v\n%s", err, out)
		}
	}
	file := filepath.Join(dir, "transcript")
	cmd := exec.CommandContext(t.Context(), stet, "wrap", "--", os.Args[0], "-test.run=^TestSDKs$", "-test.count=1")
	cmd.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), envTranscript + "=" + file, envModel + "=" + model,
		"ANTHROPIC_BASE_URL=" + model, "OPENAI_BASE_URL=" + model + "/v1",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("stet wrap: %v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

// status returns the status of the response that an SDK's error has.
func status(resp *http.Response) string {
	if resp == nil {
		return ""
	}
	return fmt.Sprint(resp.StatusCode, " retry-after=", resp.Header.Get("Retry-After"), " id=", resp.Header.Get("X-Request-Id"))
}

// asError returns the first error of type E in err's tree.
func asError[E error](err error) (E, bool) {
	var e E
	ok := errors.As(err, &e)
	return e, ok
}
