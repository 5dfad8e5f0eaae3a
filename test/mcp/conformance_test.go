package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const suite = "@modelcontextprotocol/conformance/dist/index.js"

// scenarios are the suite's server scenarios for the features that stet has: tools that return text, progress, questions to the
// user, and the protocol around them. The other scenarios are about prompts, resources, completion, logging, sampling, images and
// audio, or about forms that only the suite has.
var scenarios = map[string][]string{
	"2025-06-18": {
		"server-initialize", "server-session-lifecycle", "ping",
		"tools-list", "tools-call-simple-text", "tools-call-error", "tools-call-with-progress",
	},
	"2025-11-25": {
		"server-initialize", "server-session-lifecycle", "ping",
		"tools-list", "tools-call-simple-text", "tools-call-error", "tools-call-with-progress",
		"json-schema-2020-12", "server-sse-multiple-streams", "dns-rebinding-protection",
	},
	"2026-07-28": {
		"server-stateless", "caching", "http-header-validation",
		"tools-list", "tools-call-simple-text", "tools-call-error", "tools-call-with-progress",
		"json-schema-2020-12", "server-sse-multiple-streams", "dns-rebinding-protection",
		"input-required-result-request-state", "input-required-result-tampered-state",
		"input-required-result-result-type", "input-required-result-unsupported-methods",
		"input-required-result-missing-input-response", "input-required-result-validate-input",
	},
}

// elsewhere has the checks in these scenarios that do not apply, with the reason.
var elsewhere = map[string]string{
	"sep-2549-prompts-list-caching-hints":             "there are no prompts",
	"sep-2549-resources-list-caching-hints":           "there are no resources",
	"sep-2549-resources-templates-list-caching-hints": "there are no resources",
	"sep-2575-server-rejects-undeclared-capability":   "no tool needs a capability: a question goes elsewhere where the client cannot ask it",
	"sep-2575-missing-capability-http-400":            "the same",
}

func TestConformance(t *testing.T) {
	packages.Need(t)
	url := serveHTTP(t, true)
	for revision, names := range scenarios {
		for _, name := range names {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				out := t.TempDir()
				said, err := node(t, suite, "server", "--url", url, "--spec-version", revision, "--scenario", name, "-o", out)
				found, _ := filepath.Glob(filepath.Join(out, "*", "checks.json")) // the pattern is valid
				if len(found) != 1 {
					t.Fatalf("no checks: %v\n%s", err, said)
				}
				data, err := os.ReadFile(found[0])
				if err != nil {
					t.Fatal(err)
				}
				judge(t, data)
			})
		}
	}
}

// judge compares the results of the suite's checks with what applies.
func judge(t *testing.T, data []byte) {
	t.Helper()
	var checks []struct {
		ID, Status, Description, ErrorMessage string
		Details                               json.RawMessage
	}
	if err := json.Unmarshal(data, &checks); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, c := range checks {
		switch {
		case c.Status == "SUCCESS":
			passed++
		case c.Status == "INFO" || c.Status == "SKIPPED":
		case elsewhere[c.ID] != "":
			t.Logf("%s does not apply: %s", c.ID, elsewhere[c.ID])
		default:
			t.Errorf("%s %s: %s\n%s\n%.2000s", c.Status, c.ID, c.Description, c.ErrorMessage, c.Details)
		}
	}
	if passed == 0 {
		t.Error("no check passed")
	}
	t.Logf("%d checks passed", passed)
}
