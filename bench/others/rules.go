package others

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/replay"
)

// LastResults keeps the newest n results of tools, from one request to the
// next, and replaces all older ones.
func LastResults(n int) replay.Policy {
	return func(s replay.Setting) replay.Planner { return &lastResults{newResults(s), n} }
}

type lastResults struct {
	results
	keep int
}

func (l *lastResults) Plan() replay.Plan {
	for i := len(l.leftOut); i < len(l.all)-l.keep; i++ {
		lines := strings.Count(l.all[i].p.Text, "\n") + 1
		l.leaveOut(i, fmt.Sprintf("Old environment output: (%d lines omitted)", lines), false)
	}
	return l.plan()
}

// ClearPast replaces all but the newest keep results of tools each time that a
// request, without what is left out so far, has more than trigger tokens, if that
// leaves out atLeast tokens or more.
func ClearPast(trigger, keep, atLeast int) replay.Policy {
	return func(s replay.Setting) replay.Planner { return &clearPast{newResults(s), trigger, keep, atLeast} }
}

type clearPast struct {
	results
	trigger, keep, atLeast int
}

const cleared = "[Old tool result cleared]"

func (c *clearPast) Plan() replay.Plan {
	if c.size() > c.trigger {
		var old []int
		saved := 0
		for i := range max(0, len(c.all)-c.keep) {
			if _, ok := c.leftOut[i]; !ok && len(c.all[i].p.Text) > len(cleared) {
				old = append(old, i)
				saved += c.all[i].tokens
			}
		}
		if saved >= c.atLeast {
			for _, i := range old {
				c.leaveOut(i, cleared, false)
			}
		}
	}
	return c.plan()
}

// OutdatedReads replaces a read when a later one asked for the same lines of the
// file, or for all of it. It waits until such reads have so many bytes together.
func OutdatedReads(bytes int) replay.Policy {
	return func(s replay.Setting) replay.Planner { return &outdatedReads{results: newResults(s), batch: bytes} }
}

type outdatedReads struct {
	results
	batch int
}

func (o *outdatedReads) Plan() replay.Plan {
	later := make(map[dialect.Target]bool)
	var old []int
	size := 0
	for i := len(o.all) - 1; i >= 0; i-- {
		r := &o.all[i]
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
		if _, ok := o.leftOut[i]; !ok && outdated {
			old = append(old, i)
			size += len(r.p.Text)
		}
	}
	if len(old) > 0 && size >= o.batch {
		for _, i := range old {
			o.leaveOut(i, "[outdated: see the latest content of the file]", true)
		}
	}
	return o.plan()
}

// PruneTurns, when a turn ends, leaves the last two turns alone, keeps the
// newest results of tools before them up to protect tokens, and replaces the
// older ones, if these are more than minimum tokens.
func PruneTurns(protect, minimum int) replay.Policy {
	return func(s replay.Setting) replay.Planner {
		return &pruneTurns{results: newResults(s), protect: protect, minimum: minimum}
	}
}

type pruneTurns struct {
	results
	protect, minimum int
}

// Add ends a turn when the user speaks again.
func (r *pruneTurns) Add(m *llm.Message) {
	if m.Role == llm.User && !m.Local {
		r.prune()
	}
	r.results.Add(m)
}

func (r *pruneTurns) prune() {
	total, saved := 0, 0
	var old []int
	for i := len(r.all) - 1; i >= 0; i-- {
		if r.all[i].turn > r.turns-2 {
			continue
		}
		if _, ok := r.leftOut[i]; ok {
			break
		}
		if r.all[i].p.IsError {
			continue
		}
		if total += r.all[i].tokens; total > r.protect {
			saved += r.all[i].tokens
			old = append(old, i)
		}
	}
	if saved > r.minimum {
		for _, i := range old {
			r.leaveOut(i, "[Old tool result content cleared]", false)
		}
	}
}

func (r *pruneTurns) Plan() replay.Plan { return r.plan() }

// MaskOld protects the last message and the newest results of tools up to
// protect tokens, and replaces older ones by their beginning and end, once these
// have minimum tokens together.
func MaskOld(protect, minimum int) replay.Policy {
	return func(s replay.Setting) replay.Planner {
		return &maskOld{results: newResults(s), protect: protect, minimum: minimum}
	}
}

type maskOld struct {
	results
	protect, minimum int
}

func (k *maskOld) Plan() replay.Plan {
	total, saved := 0, 0
	var old []int
	for i := len(k.all) - 1; i >= 0; i-- {
		r := &k.all[i]
		if _, ok := k.leftOut[i]; ok || r.message == k.messages-1 {
			continue
		}
		if total += r.tokens; total > k.protect {
			saved += r.tokens
			old = append(old, i)
		}
	}
	if len(old) > 0 && saved >= k.minimum {
		for _, i := range old {
			if text := masked(k.all[i].p.Text, k.all[i].action.Op == dialect.Shell); len(text) < len(k.all[i].p.Text) {
				k.leaveOut(i, text, false)
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
func SameCalls(protected ...string) replay.Policy {
	return func(s replay.Setting) replay.Planner {
		return &sameCalls{results: newResults(s), protected: protected, newest: make(map[string]int)}
	}
}

type sameCalls struct {
	results
	protected []string
	seen      int            // results looked at
	newest    map[string]int // by call: its newest result
}

func (d *sameCalls) Plan() replay.Plan {
	for ; d.seen < len(d.all); d.seen++ {
		r := &d.all[d.seen]
		if r.call == nil || r.action.Op == dialect.Edit || r.action.Op == dialect.Write || slices.Contains(d.protected, r.call.Name) {
			continue
		}
		key := r.call.Name + " " + sortedArgs(r.call.Args)
		if i, ok := d.newest[key]; ok {
			d.leaveOut(i, "[Output removed to save context: information superseded or no longer needed]", true)
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
