package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// LastResults keeps the newest n results of tools, from one request to the
// next, and replaces all older ones.
func LastResults(n int) func(Setting) Planner {
	return func(s Setting) Planner { return &lastResults{newTrail(s), n} }
}

type lastResults struct {
	trail
	keep int
}

func (l *lastResults) Plan() Plan {
	for i := len(l.cuts); i < len(l.results)-l.keep; i++ {
		lines := strings.Count(l.results[i].p.Text, "\n") + 1
		l.cut(i, fmt.Sprintf("Old environment output: (%d lines omitted)", lines), false)
	}
	return l.plan()
}

// ClearPast replaces all but the newest keep results of tools each time that a
// request, as it is cut so far, has more than trigger tokens, if that leaves out
// at least so many.
func ClearPast(trigger, keep, atLeast int) func(Setting) Planner {
	return func(s Setting) Planner { return &clearPast{newTrail(s), trigger, keep, atLeast} }
}

type clearPast struct {
	trail
	trigger, keep, atLeast int
}

const cleared = "[Old tool result cleared]"

func (c *clearPast) Plan() Plan {
	if c.size() > c.trigger {
		var old []int
		saved := 0
		for i := range max(0, len(c.results)-c.keep) {
			if _, ok := c.cuts[i]; !ok && len(c.results[i].p.Text) > len(cleared) {
				old = append(old, i)
				saved += c.results[i].tokens
			}
		}
		if saved >= c.atLeast {
			for _, i := range old {
				c.cut(i, cleared, false)
			}
		}
	}
	return c.plan()
}

// OutdatedReads replaces reads of which a later one shows the same lines asked
// for, or the whole file, once they have so many bytes together.
func OutdatedReads(bytes int) func(Setting) Planner {
	return func(s Setting) Planner { return &outdatedReads{trail: newTrail(s), batch: bytes} }
}

type outdatedReads struct {
	trail
	batch int
}

func (o *outdatedReads) Plan() Plan {
	later := make(map[dialect.Target]bool)
	var old []int
	size := 0
	for i := len(o.results) - 1; i >= 0; i-- {
		r := &o.results[i]
		if r.action.Op != dialect.Read || r.p.IsError || len(r.action.Targets) == 0 {
			continue
		}
		outdated := true
		for _, t := range r.action.Targets {
			outdated = outdated && (later[t] || later[dialect.Target{Path: t.Path}])
		}
		for _, t := range r.action.Targets {
			later[t] = true
		}
		if _, ok := o.cuts[i]; !ok && outdated {
			old = append(old, i)
			size += len(r.p.Text)
		}
	}
	if len(old) > 0 && size >= o.batch {
		for _, i := range old {
			o.cut(i, "[outdated: see the latest content of the file]", true)
		}
	}
	return o.plan()
}

// PruneTurns, when a turn ends, leaves the last two turns alone, keeps the
// newest results of tools before them up to protect tokens, and replaces the
// older ones, if these are more than minimum tokens.
func PruneTurns(protect, minimum int) func(Setting) Planner {
	return func(s Setting) Planner { return &pruneTurns{trail: newTrail(s), protect: protect, minimum: minimum} }
}

type pruneTurns struct {
	trail
	protect, minimum int
}

// Add ends a turn when the user speaks again.
func (r *pruneTurns) Add(m *llm.Message) {
	if m.Role == llm.User && !m.Local {
		r.prune()
	}
	r.trail.Add(m)
}

func (r *pruneTurns) prune() {
	total, saved := 0, 0
	var old []int
	for i := len(r.results) - 1; i >= 0; i-- {
		if r.results[i].turn > r.turns-2 {
			continue
		}
		if _, ok := r.cuts[i]; ok {
			break
		}
		if r.results[i].p.IsError {
			continue
		}
		if total += r.results[i].tokens; total > r.protect {
			saved += r.results[i].tokens
			old = append(old, i)
		}
	}
	if saved > r.minimum {
		for _, i := range old {
			r.cut(i, "[Old tool result content cleared]", false)
		}
	}
}

func (r *pruneTurns) Plan() Plan { return r.plan() }

// MaskOld protects the last message and the newest results of tools up to
// protect tokens, and replaces older ones by their beginning and end, once these
// have minimum tokens together.
func MaskOld(protect, minimum int) func(Setting) Planner {
	return func(s Setting) Planner { return &maskOld{trail: newTrail(s), protect: protect, minimum: minimum} }
}

type maskOld struct {
	trail
	protect, minimum int
}

func (k *maskOld) Plan() Plan {
	total, saved := 0, 0
	var old []int
	for i := len(k.results) - 1; i >= 0; i-- {
		r := &k.results[i]
		if _, ok := k.cuts[i]; ok || r.message == k.messages-1 {
			continue
		}
		if total += r.tokens; total > k.protect {
			saved += r.tokens
			old = append(old, i)
		}
	}
	if len(old) > 0 && saved >= k.minimum {
		for _, i := range old {
			if text := masked(k.results[i].p.Text, k.results[i].action.Op == dialect.Shell); len(text) < len(k.results[i].p.Text) {
				k.cut(i, text, false)
			}
		}
	}
	return k.plan()
}

// masked keeps ten lines at each end of a command's output, and 250 bytes at
// each end of what else.
func masked(text string, shell bool) string {
	const where = "\n[masked: the full output is in a file]"
	if shell {
		lines := strings.Split(text, "\n")
		if len(lines) <= 20 {
			return text
		}
		return strings.Join(lines[:10], "\n") + "\n…\n" + strings.Join(lines[len(lines)-10:], "\n") + where
	}
	if len(text) <= 500 {
		return text
	}
	return strings.ToValidUTF8(text[:250], "") + "\n…\n" + strings.ToValidUTF8(text[len(text)-250:], "") + where
}

// SameCalls replaces the result of a call that was made again with the same
// arguments, at once. Edits and writes, and the tools named, are left alone.
func SameCalls(protected ...string) func(Setting) Planner {
	return func(s Setting) Planner {
		return &sameCalls{trail: newTrail(s), protected: protected, newest: make(map[string]int)}
	}
}

type sameCalls struct {
	trail
	protected []string
	seen      int            // results looked at
	newest    map[string]int // by call: its newest result
}

func (d *sameCalls) Plan() Plan {
	for ; d.seen < len(d.results); d.seen++ {
		r := &d.results[d.seen]
		if r.call == nil || r.action.Op == dialect.Edit || r.action.Op == dialect.Write || slices.Contains(d.protected, r.call.Name) {
			continue
		}
		key := r.call.Name + " " + sortedArgs(r.call.Args)
		if i, ok := d.newest[key]; ok {
			d.cut(i, "[Output removed to save context: information superseded or no longer needed]", true)
		}
		d.newest[key] = d.seen
	}
	return d.plan()
}

// sortedArgs returns the arguments of a call with their keys in order.
func sortedArgs(args string) string {
	var v map[string]any
	if json.Unmarshal([]byte(args), &v) != nil {
		return args
	}
	for k, e := range v {
		if e == nil {
			delete(v, k)
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(out)
}
