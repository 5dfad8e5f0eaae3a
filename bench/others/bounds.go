package others

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
	"github.com/stet-dev/stet/trim/replay/check"
)

// LosslessBound returns the bound of policies that leave out only what the request
// shows elsewhere, and listings and written contents that newer ones have
// replaced. Each token is free from the request on that does without it.
func LosslessBound(name string) bench.Policy {
	return bench.Policy{Name: name, Play: playBound(repeatedParts)}
}

// ClairvoyantBound returns the bound of policies that know the future. In addition to what
// LosslessBound leaves out, these leave out every call and result when no later
// answer names anything that is known from it alone, and no later edit needs a line
// of it.
func ClairvoyantBound(name string) bench.Policy {
	return bench.Policy{Name: name, Play: playBound(unneededParts)}
}

// release says that a request, and those after it, do without some tokens of a part. Releases describe a bound: a cost that no
// policy of its kind can go below. What is released is free from then on, breaks no cache, and needs no placeholder.
type release struct{ Request, Part, Tokens int }

// playBound plays a session as a bound bills it.
func playBound(releases func(*replay.Replay) []release) func(context.Context, *replay.Replay, []replay.Rule) (replay.Outcome, error) {
	return func(ctx context.Context, r *replay.Replay, rules []replay.Rule) (replay.Outcome, error) {
		return bounded(ctx, r, releases(r), rules)
	}
}

// bounded bills the session without what is released.
func bounded(ctx context.Context, r *replay.Replay, releases []release, rules []replay.Rule) (replay.Outcome, error) {
	slices.SortStableFunc(releases, func(a, b release) int { return cmp.Compare(a.Request, b.Request) })
	var caches []replay.Cache
	for _, rule := range rules {
		caches = append(caches, replay.Cache{Rule: rule.Rule, Recorded: rule.Recorded})
	}
	sender := r.NewSender(caches...)
	sender.Free = make([]int, len(r.Parts))
	out := replay.NewOutcome()
	for i := range r.Requests {
		if err := ctx.Err(); err != nil {
			return replay.Outcome{}, err
		}
		for ; len(releases) > 0 && releases[0].Request <= i; releases = releases[1:] {
			sender.Free[releases[0].Part] += releases[0].Tokens
		}
		r.Add(&out, i, sender.Send(i, nil), rules)
	}
	out.Edits.Supported = r.Index().EditCount()
	return out, nil
}

// repeatedParts returns what a policy that loses nothing could leave out: lines
// of calls and results that are in the context already, and listings and
// written contents that a newer one of the same path has replaced.
func repeatedParts(r *replay.Replay) []release {
	var out []release
	from, at := -1, 0
	var shown map[string]bool
	var latest map[string]int
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.From != from {
			from, at = q.From, r.Begin(q)
			shown, latest = make(map[string]bool), make(map[string]int)
		}
		for ; at < r.End(q); at++ {
			p := r.Parts[at]
			if n := repeatedTokens(r, at, shown); n > 0 && isTool(p.Part) {
				out = append(out, release{Request: i, Part: at, Tokens: n})
			}
			if p.Kind != llm.ToolCall {
				continue
			}
			a := dialect.Default().Action(p.Name, p.Args)
			if a.Op != dialect.List && a.Op != dialect.Write || len(a.Targets) != 1 {
				continue
			}
			content := at
			if a.Op == dialect.List {
				content = resultOf(r, at, r.End(q))
			}
			key := a.Row + " " + a.Targets[0].Path
			if old, ok := latest[key]; ok {
				out = append(out, release{Request: i, Part: old, Tokens: r.Counted(old)})
			}
			latest[key] = content
		}
	}
	return out
}

// resultOf returns the first result before end that answers a call, or the call's own index where there is none.
func resultOf(r *replay.Replay, call, end int) int {
	for at := call + 1; at < end; at++ {
		if r.Parts[at].Kind == llm.ToolResult && r.Call(at) == r.Parts[call].Part {
			return at
		}
	}
	return call
}

func isTool(p *llm.Part) bool { return p.Kind == llm.ToolResult || p.Kind == llm.ToolCall }

// repeatedTokens returns the tokens of a part's lines that were shown before, and
// adds its lines to shown. A short line counts like the line before it.
func repeatedTokens(r *replay.Replay, part int, shown map[string]bool) int {
	const short = 8
	repeated, all := 0, 0 // bytes
	var lines []string
	for _, text := range r.Index().TextsOnce(part) {
		before := false
		for raw, line := range bareLines(text) {
			all += len(raw)
			if len(strings.TrimSpace(line)) >= short {
				before = shown[line]
				lines = append(lines, line)
			}
			if before {
				repeated += len(raw)
			}
		}
	}
	for _, line := range lines {
		shown[line] = true
	}
	if all == 0 {
		return 0
	}
	return r.Counted(part) * repeated / all
}

// unneededParts returns what a policy that knows the future could leave out: what
// repeatedParts returns, and calls and results once no later answer names anything
// that is known from them alone, and no later edit needs their lines.
func unneededParts(r *replay.Replay) []release {
	out := repeatedParts(r)
	last := make([]int, len(r.Parts)) // the last request that needs the part
	from, at := -1, 0
	var said map[string]bool  // words of the user, the system or the model
	var source map[string]int // by word: the newest result, or else the first call, that holds it
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.From != from {
			from, at = q.From, r.Begin(q)
			said, source = make(map[string]bool), make(map[string]int)
		}
		for ; at < r.End(q); at++ {
			last[at] = i
			p := r.Parts[at]
			eachWord(r.Index().Texts(at), func(word string) {
				if !isTool(p.Part) {
					said[word] = true
				} else if _, ok := source[word]; !ok || p.Kind == llm.ToolResult {
					source[word] = at
				}
			})
		}
		for answer := at; answer < r.First[q.To+1]; answer++ {
			eachWord(r.Index().Texts(answer), func(word string) {
				if part, ok := source[word]; ok && !said[word] {
					last[part] = i
				}
			})
		}
		for _, part := range r.Index().NeededBy(i) {
			last[part] = i
		}
	}
	const longArgs = 400 // bytes
	for part, i := range last {
		p := r.Parts[part]
		if p.Kind == llm.ToolResult || p.Kind == llm.ToolCall && len(p.Args) > longArgs {
			out = append(out, release{Request: i + 1, Part: part, Tokens: r.Counted(part)})
		}
	}
	return out
}

// eachWord calls do with the words of texts that can be a name: at least four
// letters, digits or underscores.
func eachWord(texts []string, do func(word string)) {
	for _, text := range texts {
		start := -1
		for i := 0; i <= len(text); i++ {
			if i < len(text) && isWordByte(text[i]) {
				if start < 0 {
					start = i
				}
				continue
			}
			if start >= 0 && i-start >= 4 {
				do(text[start:i])
			}
			start = -1
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// bareLines yields the lines of a text as they are there, and without line
// number, patch mark and blanks at the end.
func bareLines(text string) iter.Seq2[string, string] {
	return func(yield func(raw, bare string) bool) {
		patch := check.IsPatch(text)
		for raw := range strings.Lines(text) {
			line := check.Clean(raw)
			if rest, ok := check.BehindNumber(line); ok {
				line = rest
			} else if patch && len(line) > 1 && (line[0] == '+' || line[0] == ' ') {
				line = line[1:]
			}
			if !yield(raw, line) {
				return
			}
		}
	}
}
