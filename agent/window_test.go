package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
)

// Limits decides when a conversation is compacted, and how large an answer's results may be. (CTX-4)
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		agent                     *Agent
		window, limit, most, long int // long: the answer's limit at the limit of the prompt
	}{
		{&Agent{}, 128_000, 117_760, 117_760, 7_680},
		{&Agent{Limits: Limits{Window: 200_000}}, 200_000, 184_000, 187_808, 8_192},
		{&Agent{Limits: Limits{Window: 200_000}, MaxTokens: 40_000}, 200_000, 156_000, 156_000, 40_000},
		{&Agent{Limits: Limits{Window: 200_000, Compact: 0.5}}, 200_000, 100_000, 187_808, 8_192},
		{&Agent{Limits: Limits{Window: 200_000, Compact: -1, Reserve: 20_000}}, 200_000, 171_808, 171_808, 8_192},
		{&Agent{Limits: Limits{Window: 200_000, Compact: 0.99}}, 200_000, 187_808, 187_808, 8_192},
		{&Agent{Limits: Limits{Window: 4_000, Reserve: 4_000}}, 4_000, 3_260, 3_260, 240},
	} {
		a := c.agent
		if a.window() != c.window || a.limit() != c.limit || a.maxPrompt() != c.most || a.answerLimit(a.limit()) != c.long {
			t.Errorf("%+v: window %d, limit %d, most %d, answer %d", a.Limits, a.window(), a.limit(), a.maxPrompt(), a.answerLimit(a.limit()))
		}
	}
	// Where nothing is set, a window of any size is used up to 92 %, and prompt and answer fit.
	for _, window := range []int{4_000, 8_192, 16_000, 32_000, 32_768, 65_536, 128_000, 200_000, 1_000_000, 2_000_000} {
		a := &Agent{Limits: Limits{Window: window}}
		if share := float64(a.limit()) / float64(window); share < 0.9195 || share > 0.92 || a.warned() > a.limit() {
			t.Errorf("window of %d: limit %d, %.2f %%, warned at %d", window, a.limit(), share*100, a.warned())
		}
		if a.answerLimit(0) != min(8192, window/4) {
			t.Errorf("window of %d: an answer of %d", window, a.answerLimit(0))
		}
		for _, size := range []int{0, window / 2, a.limit(), a.maxPrompt()} {
			if n := a.answerLimit(size); size+n > window || n < window*6/100 && n < 8192 {
				t.Errorf("window of %d: an answer of %d to a prompt of %d", window, n, size)
			}
		}
	}
}

// After two failures in a row, compaction is not tried again until the conversation has grown or the person asks for it. The same
// holds after a compaction that did not help. (CTX-4)
func TestBackoff(t *testing.T) {
	var b backoff
	b.failed(1000, 1000)
	if !b.free(1000) {
		t.Error("one failure is enough")
	}
	b.failed(1000, 1000)
	if b.free(1099) || !b.free(1100) {
		t.Error("after two failures it is tried again at once, or never")
	}
	b.reset()
	if !b.free(1) {
		t.Error("a compaction on request is refused")
	}
	b.compacted(950, 900, 1000)
	if b.free(1049) || !b.free(1050) {
		t.Error("compacted again although it did not help")
	}
	b.compacted(100, 900, 1000)
	if !b.free(900) {
		t.Error("held back although it helped")
	}
}

// frontier is the last cold point, or else the end of the first request.
func TestFrontier(t *testing.T) {
	conversation := func(roles ...llm.Role) []llm.Message {
		var all []llm.Message
		for _, r := range roles {
			all = append(all, llm.Message{Role: r})
		}
		return all
	}
	asked := conversation(llm.System, llm.User)
	long := append(asked, conversation(llm.Assistant, llm.Tool, llm.Assistant, llm.User)...)
	for _, c := range []struct {
		all    []llm.Message
		breaks []trim.Point
		want   int
	}{
		{asked, nil, 2},
		{long, nil, 2},
		{long, []trim.Point{{After: 4, Why: trim.Gap}}, 4},
		{long, []trim.Point{{After: 4, Why: trim.Gap}, {After: 6, Why: trim.Model}}, 6},
	} {
		if got := frontier(c.all, c.breaks); got != c.want {
			t.Errorf("%d messages, moments %v: %d, want %d", len(c.all), c.breaks, got, c.want)
		}
	}
}

// A cut text keeps its beginning and its end, has a bounded size, and does not cut characters.
func TestCutText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(rapid.StringN(0, 400, -1).Draw(t, "text"), "")
		n := rapid.IntRange(8, 500).Draw(t, "n")
		got := cutText(s, n)
		if len(s) <= n {
			if got != s {
				t.Fatalf("%q became %q", s, got)
			}
			return
		}
		if len(got) > n+100 || !utf8.ValidString(got) || !strings.HasPrefix(s, got[:strings.Index(got, "\n[")]) || !strings.Contains(got, "bytes are left out here") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
