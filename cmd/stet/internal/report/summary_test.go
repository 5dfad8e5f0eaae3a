package report

import (
	"bytes"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Summary
		want string
	}{
		{"nothing came", Summary{}, "stet: no request came through: does the agent use ANTHROPIC_BASE_URL or OPENAI_BASE_URL?\n"},
		{"nothing came by the forward proxy", Summary{Forward: true}, "stet: no request for a model came through: does the agent use HTTPS_PROXY, and ask a host that docs/wrap.md lists and NO_PROXY does not?\n"},
		{
			"refused by stet", Summary{Totals: proxy.Totals{Refused: 2, Why: "which provider /\x1b[2J is for is not known"}}, // no text of a request controls the terminal
			"stet: 2 requests got no answer from a provider: which provider /\\x1b[2J is for is not known\n",
		},
		{
			"no answer", Summary{Totals: proxy.Totals{Requests: 1, Errors: 1, Refused: 1, Why: "no answer from https://model.example"}},
			"stet: 1 request got no answer from a provider: no answer from https://model.example\n" +
				"stet: 1 request failed; the agent has the reason\nstet: nothing to save: 1 request, 0 reads of files: no request succeeded\n",
		},
		{
			"other paths", Summary{Totals: proxy.Totals{Through: map[string]int{"/v1/models": 2, "/v1/embeddings": 1}}},
			"stet: no request to a model came through that stet knows, but 3 requests to others: /v1/embeddings, /v1/models\n",
		},
		{
			"tokens counted", Summary{Totals: proxy.Totals{ByAPI: map[string]int{record.CountTokens: 1}}},
			"stet: no request to a model came through, but 1 request to count tokens\n",
		},
		{
			"repeats", Summary{Totals: proxy.Totals{Requests: 2, Reads: 3, Shortened: map[string]int{"repeat": 1, "restored": 4}, TokensOff: 200, Tokens: 100}},
			"stet: 2 requests, 3 reads of files; 1 repeat left out\nstet: estimated from the length of the texts: 200 prompt tokens without stet, 100 with: -50.0 %\n",
		},
		{
			"observed", Summary{Observe: true, Totals: proxy.Totals{Requests: 2, Shortened: map[string]int{"older": 2, "terminal": 1}, TokensOff: 2, Tokens: 2}},
			"stet: 2 requests, 0 reads of files; 2 older reads and 1 older command output would be left out (observe: nothing was)\n" +
				"stet: estimated from the length of the texts: 2 prompt tokens without stet, 2 with: 0 %\n",
		},
		{"off", Summary{Policy: trim.Off, Totals: proxy.Totals{Requests: 1}}, "stet: 1 request, 0 reads of files; policy off leaves nothing out\n"},
		{"finish", Summary{Policy: trim.Finish, Totals: proxy.Totals{Requests: 1}}, "stet: 1 request, 0 reads of files; policy finish leaves nothing new out\n"},
		{
			"limits", Summary{Policy: trim.Off, Totals: proxy.Totals{Requests: 1, Limits: map[string]int{"the limit of $5.00 for a day is nearly spent: $4.10 (codex)": 2}}}, // LIVE-3
			"stet: 1 request, 0 reads of files; policy off leaves nothing out\nstet: the limit of $5.00 for a day is nearly spent: $4.10 (codex)\n",
		},
		{
			"to be continued", Summary{Totals: proxy.Totals{Requests: 2, Bound: true, Shortened: map[string]int{"repeat": 1}, TokensOff: 2, Tokens: 1}},
			"stet: 2 requests, 0 reads of files; 1 repeat left out\nstet: estimated from the length of the texts: 2 prompt tokens without stet, 1 with: -50.0 %\n" +
				"stet: a session was shortened, and the provider checks that it stays so: continue it with stet (--policy finish shortens nothing new)\n",
		},
		{
			"passed on", Summary{Totals: proxy.Totals{
				Requests: 9, Errors: 1, Passed: map[string]int{"chained": 1, "encoded": 2, "malformed": 1, "patch": 1},
			}},
			"stet: 1 request failed; the agent has the reason\n" +
				"stet: nothing to save: 9 requests, 0 reads of files: no tool result that stet knows was long enough and came again\n" +
				"stet: passed on untouched: 2 requests not understood, 1 request of a conversation that the provider stores, 2 requests with a compressed body\n",
		},
	} {
		var b bytes.Buffer
		if tt.s.Print(&b); b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, b.String(), tt.want)
		}
	}
}
