package replay

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
)

// A bound is what no policy of its kind can go below: every token that is dead
// is free from the moment it is dead, breaks no cache, and needs no line in its
// place.

// death says that a request, and those after it, do without some tokens of a
// block.
type death struct{ request, block, tokens int }

// bounded bills the session without what is dead.
func (r *recording) bounded(ctx context.Context, deaths []death, rules []prices.Rule) (outcome, error) {
	slices.SortStableFunc(deaths, func(a, b death) int { return cmp.Compare(a.request, b.request) })
	out := outcome{cost: make(map[string]float64)}
	sims := make([]simulator, len(rules))
	for i, rule := range rules {
		sims[i] = simulator{rule: rule, fixed: r.fixed, exact: r.exact}
	}
	dead := make([]int, len(r.blocks))
	var p prompt
	from := -1
	for i := range r.requests {
		if err := ctx.Err(); err != nil {
			return outcome{}, err
		}
		for ; len(deaths) > 0 && deaths[0].request <= i; deaths = deaths[1:] {
			dead[deaths[0].block] += deaths[0].tokens
		}
		q := &r.requests[i]
		if q.from != from {
			from = q.from
			p.reset()
		}
		p.begin(q.root)
		base := r.first[q.from]
		for at := base + len(p.chain); at < r.first[q.to]; at++ {
			p.add(r.block(at))
		}
		p.settle()
		sum := 0
		for at := range p.chain {
			b := base + at
			sum += r.sized(b, block{tokens: max(0, r.blocks[b].tokens-dead[b])}).tokens
			p.sum[at] = sum
		}
		for j, rule := range rules {
			out.cost[rule.Name] += sims[j].send(&p, q.sent, q.answered).cost(rule)
		}
		out.requests++
		out.tokens += int64(r.fixed + sum)
		out.peak = max(out.peak, r.fixed+sum)
	}
	r.prepare()
	out.support.Supported = len(r.needs)
	return out, nil
}

// shownBefore returns what a policy that loses nothing could leave out: lines
// of calls and results that stand in the context already, and listings and
// written contents that a newer one of the same path has replaced.
func (r *recording) shownBefore() []death {
	r.prepare()
	var out []death
	from, base := -1, 0
	var shown map[string]bool
	var latest map[string]int
	for i := range r.requests {
		q := &r.requests[i]
		if q.from != from {
			from, base = q.from, r.first[q.from]
			shown, latest = make(map[string]bool), make(map[string]int)
		}
		for ; base < r.first[q.to]; base++ {
			p := r.parts[base].part
			if n := r.repeated(base, shown); n > 0 && (p.Kind == llm.ToolResult || p.Kind == llm.ToolCall) {
				out = append(out, death{i, base, n})
			}
			if p.Kind != llm.ToolCall {
				continue
			}
			a := dialect.Default().Action(p.Name, p.Args)
			if a.Op != dialect.List && a.Op != dialect.Write || len(a.Targets) != 1 {
				continue
			}
			at := base
			if a.Op == dialect.List {
				at = r.answer(base, r.first[q.to])
			}
			key := a.Row + " " + a.Targets[0].Path
			if old, ok := latest[key]; ok {
				out = append(out, death{i, old, r.blocks[old].tokens})
			}
			latest[key] = at
		}
	}
	return out
}

// repeated returns the tokens of a block's lines that were shown before, and
// adds its lines to shown. Short lines go with the one before them.
func (r *recording) repeated(at int, shown map[string]bool) int {
	const short = 8
	bytes, all := 0, 0
	var fresh []string
	for _, text := range r.once(at) {
		patch, before := isPatch(text), false
		for raw := range strings.Lines(text) {
			all += len(raw)
			line := clean(raw)
			if rest, ok := behindNumber(line); ok {
				line = rest
			} else if patch && len(line) > 1 && (line[0] == '+' || line[0] == ' ') {
				line = line[1:]
			}
			if len(strings.TrimSpace(line)) >= short {
				before = shown[line]
				fresh = append(fresh, line)
			}
			if before {
				bytes += len(raw)
			}
		}
	}
	for _, line := range fresh {
		shown[line] = true
	}
	if all == 0 {
		return 0
	}
	return r.blocks[at].tokens * bytes / all
}

// unused returns what a policy that knows the future could leave out: calls
// and results of which no later answer names anything that is known from them
// alone, and whose lines no later edit needs.
func (r *recording) unused() []death {
	r.prepare()
	last := make([]int, len(r.blocks)) // the last request that needs the block
	out := r.shownBefore()
	needs := r.needs
	from, base := -1, 0
	var said map[string]bool // by the user, the system or the model
	var where map[string]int // the newest call or result that holds a word
	for i := range r.requests {
		q := &r.requests[i]
		if q.from != from {
			from, base = q.from, r.first[q.from]
			said, where = make(map[string]bool), make(map[string]int)
		}
		for ; base < r.first[q.to]; base++ {
			last[base] = i
			tool := r.parts[base].part.Kind == llm.ToolResult || r.parts[base].part.Kind == llm.ToolCall
			for _, text := range r.texts.shown[base] {
				eachWord(text, func(word string) {
					if !tool {
						said[word] = true
					} else if _, ok := where[word]; !ok || r.parts[base].part.Kind == llm.ToolResult {
						where[word] = base
					}
				})
			}
		}
		for at := base; at < r.first[q.to+1]; at++ {
			for _, text := range r.texts.shown[at] {
				eachWord(text, func(word string) {
					if at, ok := where[word]; ok && !said[word] {
						last[at] = i
					}
				})
			}
		}
		for ; len(needs) > 0 && needs[0].request == i; needs = needs[1:] {
			r.use(&needs[0], i, last)
		}
	}
	for at, i := range last {
		k := r.parts[at].part.Kind
		if k == llm.ToolResult || k == llm.ToolCall && len(r.parts[at].part.Args) > 400 {
			out = append(out, death{i + 1, at, r.blocks[at].tokens})
		}
	}
	return out
}

// use marks the newest blocks that hold what an edit needs as needed by
// request i.
func (r *recording) use(nd *need, i int, last []int) {
	mark := func(blocks []int32) {
		for n := len(blocks) - 1; n >= 0; n-- {
			if at := int(blocks[n]); at < r.first[r.requests[i].to] {
				last[at] = i
				return
			}
		}
	}
	if len(nd.whole) > 0 {
		mark(nd.whole)
		return
	}
	for _, l := range nd.lines {
		if l.id >= 0 {
			mark(r.texts.blocks[l.id])
		} else {
			mark(l.in)
		}
	}
}

// eachWord calls do with the words of a text that can be a name: four letters,
// digits or underscores and more.
func eachWord(text string, do func(word string)) {
	start := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && wordByte(text[i]) {
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

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
