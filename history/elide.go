package history

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

const (
	// recent is how many of the newest results are no victims.
	recent = 5
	// worth is how many bytes must leave with a line of ours at least.
	worth = 200
)

// verdict is what leaves of a result and of its call at a moment. The zero
// verdict leaves both.
type verdict struct {
	text  string // takes the place of the result; "" = it stays
	why   Reason // of text
	args  string // takes the place of the call's arguments; "" = they stay
	bears bool   // the arguments left show their lines as before
	paths []string
}

// elide decides anew what leaves of the request; of the beginning that left is
// about what left then leaves. First the victims are chosen, the newest
// result first. Then everything that stays is admitted once more, in order, so
// that no line of ours points to a victim.
func (f *State) elide(left *Omitted) {
	s := newSurvey(f, left)
	for i := len(f.facts) - 1; i >= 0; i-- {
		f.facts[i].verdict = verdict{}
		s.decide(i, &f.facts[i])
	}
	f.replay()
	s.replacedTexts()
	f.plan.sort()
}

// replay makes the plan and the ledger out of the verdicts.
func (f *State) replay() {
	f.plan = Plan{Stats: Stats{Reads: f.plan.Reads}}
	f.ledger.forget()
	for i := range f.facts {
		fa := &f.facts[i]
		v := &fa.verdict
		fa.fixed = fa.bound
		if v.args != "" {
			f.plan.leave(fa.call.at, fa, v.args, len(fa.call.args), Arguments)
		}
		switch {
		case v.text != "":
			f.plan.leave(place{fa.message, fa.part}, fa, v.text, len(fa.text), v.why)
			f.owe(fa)
		case v.args != "" && !v.bears:
			f.written(fa, false)
			f.owe(fa)
		default:
			f.admit(fa)
		}
	}
}

// leave adds the edit of a result or of a call's arguments.
func (p *Plan) leave(at place, fa *fact, text string, size int, why Reason) {
	p.Edits = append(p.Edits, llm.Edit{Message: at.message, Part: at.part, Text: text})
	p.Omissions = append(p.Omissions, Omission{
		Message: at.message, Part: at.part, CallID: fa.call.id, Paths: fa.verdict.paths,
		Reason: why, Before: size, After: len(text),
	})
	p.Saved += size - len(text)
}

// sort brings a plan into the order of the messages.
func (p *Plan) sort() {
	slices.SortFunc(p.Edits, func(a, b llm.Edit) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Part, b.Part))
	})
	slices.SortFunc(p.Omissions, func(a, b Omission) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Part, b.Part))
	})
}

// survey is what must be known to choose victims.
type survey struct {
	f       *State
	pinned  map[int]bool     // facts that the agent's own stubs point to
	touched map[string]int   // by file: the last turn that read or changed it
	changed map[string]bool  // directories that a file was changed in
	working []string         // files that the agent works on, sorted
	sent    *Omitted         // how the beginning was sent before
	left    map[PartRef]bool // of it

	// Of the results met so far, which are the newer ones:
	outputs int               // of commands and the like
	reads   map[string]int    // by file
	listed  map[string]bearer // the newest listing, by what was asked
	planned bool              // a plan
}

func newSurvey(f *State, left *Omitted) *survey {
	s := &survey{
		f: f, sent: left, left: make(map[PartRef]bool), pinned: make(map[int]bool), touched: make(map[string]int),
		changed: make(map[string]bool), reads: make(map[string]int), listed: make(map[string]bearer),
	}
	if left != nil {
		for _, spot := range left.Parts {
			s.left[spot] = true
		}
	}
	f.settle()
	shows := make(map[string][]int) // by file: the facts that show it
	edited := make(map[string]bool)
	for i := range f.facts {
		fa := &f.facts[i]
		for _, key := range fa.points {
			for _, x := range f.meant(fa, key, shows[key]) {
				s.pinned[x] = true
			}
			s.touched[key] = fa.turn
		}
		for j := range fa.reads {
			shows[fa.reads[j].key] = append(shows[fa.reads[j].key], i)
		}
		op := fa.call.action.Op
		for _, t := range fa.call.action.Targets {
			key := f.keys.key(t.Path)
			s.touched[key] = fa.turn
			if op == dialect.Edit || op == dialect.Write {
				s.changed[path.Dir(key)], edited[key] = true, true
			}
			if op == dialect.Write {
				shows[key] = append(shows[key], i)
			}
		}
	}
	s.working = s.works(edited)
	return s
}

func (s *survey) countReads(fa *fact) {
	for j := range fa.reads {
		s.reads[fa.reads[j].key]++
	}
}

// policy reports whether the engine's policy is at least p, of those that
// elide.
func (s *survey) policy(p Policy) bool {
	now := s.f.engine.config.Policy
	return now == p || now == Bold || now == Adaptive && p == Lossless
}

// again reports whether a result was sent before, with what stands behind it: how
// old it is does not count then.
func (s *survey) again(fa *fact) bool { return s.sent.covers(fa.message - s.f.skip) }

// may reports whether the i-th result, and the arguments of its call, may leave at all.
func (s *survey) may(i int, fa *fact) (text, args bool) {
	text = i < len(s.f.facts)-recent
	args = text
	if s.again(fa) {
		text, args = s.left[s.spot(place{fa.message, fa.part})], s.left[s.spot(fa.call.at)]
	}
	return text && !fa.bound && !s.pinned[i] && !fa.marked, args && fa.call.editable && !strings.Contains(fa.call.args, mark)
}

func (s *survey) spot(at place) PartRef { return PartRef{at.message - s.f.skip, at.part} }

// decide chooses what leaves of a result and its call.
func (s *survey) decide(i int, fa *fact) {
	if fa.ours || fa.result.Failed {
		return
	}
	may, args := s.may(i, fa)
	again := s.again(fa)
	switch fa.call.action.Op {
	case dialect.Read:
		if may && (again || s.unused(fa)) {
			fa.leave(s.f.engine.words.unused(fa.readPaths()), Idle)
		}
		s.countReads(fa)
	case dialect.List:
		s.list(fa, may)
	case dialect.Output:
		if fa.call.action.Content != "" {
			s.plan(fa, may && args)
			return
		}
		fallthrough
	case dialect.Shell, dialect.Agent:
		s.outputs++
		a, spent := &fa.call.action, again || may && s.spent(fa)
		if may && spent && len(fa.text) > worth { // else no line is worth making
			fa.leave(s.f.engine.words.again(a), Command)
		}
		if a.Op == dialect.Agent && args && spent {
			fa.shorten(omission{a.ContentAt, toldLine})
		}
	case dialect.Write:
		if args && s.policy(Bold) && !s.pinned[i] && (again || s.unread(fa)) {
			fa.leaveContent()
		}
	}
}

// leave says that all of a result leaves for a line, if that is worth it.
func (fa *fact) leave(line string, why Reason) {
	if len(line)+worth <= len(fa.text) {
		fa.verdict.text, fa.verdict.why, fa.verdict.paths = line, why, fa.readPaths()
	}
}

// readPaths are the files that a result shows.
func (fa *fact) readPaths() []string {
	var out []string
	for j := range fa.reads {
		out = append(out, fa.reads[j].path)
	}
	return out
}

// spent reports whether an output is past the newest ones. One that may show
// text of files must also be long past: edits are made from it. A report of
// another agent, which seldom quotes, must show nothing of the files that this
// one works on.
func (s *survey) spent(fa *fact) bool {
	c := &s.f.engine.config
	if !s.policy(Adaptive) || c.KeepShell < 0 || s.outputs <= c.KeepShell {
		return false
	}
	long := c.Idle >= 0 && s.f.turns-fa.turn >= c.Idle/s.hurry()
	return !fa.prints || long || fa.call.action.Op == dialect.Agent && !s.active(fa)
}

// plan: an older plan leaves, with the answer to it, where a newer one stays.
func (s *survey) plan(fa *fact, may bool) {
	if s.planned && may && s.policy(Adaptive) && fa.shorten(omission{fa.call.action.ContentAt, planLine}) {
		fa.verdict.text, fa.verdict.why = planLine, Replaced
	}
	s.planned = true
}

// idle reports whether nobody has touched a file for so many times the turns
// of [Config.Idle].
func (s *survey) idle(key string, times int) bool {
	c := &s.f.engine.config
	return c.Idle >= 0 && s.f.turns-s.touched[key] >= times*c.Idle
}

// unused reports whether a read is past use: its files are foreign, or it is
// past under bold.
func (s *survey) unused(fa *fact) bool {
	if len(fa.reads) == 0 || staying(fa) || !s.policy(Adaptive) {
		return false
	}
	for j := range fa.reads {
		if key := fa.reads[j].key; !s.foreign(key) && !(s.policy(Bold) && s.past(fa, key)) {
			return false
		}
	}
	return true
}

// past reports whether a read of a file is past use under bold: nobody has
// touched the file for long and the agent works elsewhere, or the read is as
// old, and the newest reads of the file follow.
func (s *survey) past(fa *fact, key string) bool {
	c := &s.f.engine.config
	if s.idle(key, 2) && !s.changed[path.Dir(key)] {
		return true
	}
	return c.KeepReads >= 0 && s.reads[key] >= c.KeepReads && c.Idle >= 0 && s.f.turns-fa.turn >= 2*c.Idle
}

// list: an older listing leaves where a newer one of the very same kind stays.
func (s *survey) list(fa *fact, may bool) {
	if len(fa.reads) != 1 {
		return
	}
	what := fa.call.action.Row + "\x00" + fa.call.args
	if newer, ok := s.listed[what]; ok && may {
		fa.leave(s.f.engine.words.relisted(fa.reads[0].path, newer), Replaced)
	}
	if fa.verdict.text == "" {
		s.listed[what] = s.f.bearer(fa)
	}
}

// hurry is 2 under bold, which waits half as long for outputs to be past use.
func (s *survey) hurry() int {
	if s.policy(Bold) {
		return 2
	}
	return 1
}
