package trim

import (
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// At a cold point, and at a warm break (see break.go), all is decided again. The eviction
// scan goes over the results, newest first, and chooses what leaves:
//
//   - outputs of commands past the newest ones (adaptive). One that quotes files (cat, a
//     difference) leaves only when it is long past: edits are made from it,
//   - reads of dependencies and of files outside the workspace that were not touched
//     for long (adaptive; see evict_places.go),
//   - the texts that edits replaced where their lines stand elsewhere (adaptive; see
//     evict_arguments.go),
//   - all other reads of files that were not touched for some turns (bold): the wait is
//     short where the agent has changed the file, since its edits show what matters,
//   - texts that were written to files which were not touched for long (bold).
//
// Failed results, the newest results, and what an agent's own stub is about always
// stay.

// recent is how many of the newest results always stay.
const recent = 5

// eviction is what leaves of a result and of its call at a cold point. The zero
// eviction leaves both in place.
type eviction struct {
	text  string // takes the place of the result; "": it stays
	why   Reason // of text
	args  string // takes the place of the arguments of the call; "": they stay
	shown bool   // the new arguments show the lines of files as before
	paths []string
}

// evict decides again what leaves the request. The first keep messages stay as they are.
func (st *State) evict(keep int) {
	scan := newEvictionScan(st, keep)
	scan.chooseAll()
	if st.engine.Clears() {
		st.clear(scan, false)
		return
	}
	st.planBy(scan, keep)
}

// planBy makes a new plan with what a scan has chosen.
func (st *State) planBy(scan *evictionScan, keep int) {
	st.planAgain(keep)
	if scan.replacedTexts() {
		st.moveSources()
	}
	st.plan.Sort()
}

// moveSources counts again how many bytes of the request stand before each source, after texts have left in front of it.
func (st *State) moveSources() {
	less := make(map[PartRef]int, len(st.plan.Omissions))
	for _, o := range st.plan.Omissions {
		less[PartRef{o.Message, o.Part}] = o.Before - o.After
	}
	offsets, saved := make(map[PartRef]int, 2*len(st.results)), 0
	for i := range st.results {
		res := &st.results[i]
		saved += less[res.call.at]
		offsets[res.at], offsets[res.call.at] = res.end-saved, res.end-saved
		saved += less[res.at]
	}
	for i := range st.ledger.passages {
		st.ledger.passages[i].offset = offsets[st.ledger.passages[i].at]
	}
}

// planAgain makes a new plan and a new ledger: what was chosen leaves, and what stays
// is deduplicated in order. The results before message keep are sent as they are in the plan so far.
func (st *State) planAgain(keep int) {
	sent := givenBy(&st.plan)
	st.plan = Plan{Stats: Stats{Reads: st.plan.Reads, Breaks: st.plan.Breaks}}
	st.ledger.clear()
	for i := range st.results {
		if res := &st.results[i]; i >= st.cleared && res.at.Message < keep {
			st.repeat(res, sent)
		} else {
			st.apply(res, nil)
		}
	}
}

// evictionScan chooses what leaves.
type evictionScan struct {
	st      *State
	stubbed map[int]bool    // results that the agent's own stubs are about
	touched map[string]int  // by file: the last turn that read or changed it
	changed map[string]bool // files that the agent changed
	keep    int             // messages at the beginning that stay as they are

	outputs int // results of commands and the like among those met so far, which are newer ones
}

func newEvictionScan(st *State, keep int) *evictionScan {
	s := &evictionScan{
		st: st, keep: keep, stubbed: make(map[int]bool), touched: make(map[string]int), changed: make(map[string]bool),
	}
	st.named.resolve(st.keys)
	showing := make(map[string][]int) // by file: the results that show it
	for i := range st.results {
		res := &st.results[i]
		for _, key := range res.stubKeys {
			for _, target := range st.stubTargets(res, key, showing[key]) {
				s.stubbed[target] = true
			}
			s.touched[key] = res.turn
		}
		for j := range res.reads {
			showing[res.reads[j].key] = append(showing[res.reads[j].key], i)
		}
		op := res.call.action.Op
		for _, t := range res.call.action.Targets {
			key := st.keys.key(t.Path)
			s.touched[key] = res.turn
			if op == dialect.Edit || op == dialect.Write {
				s.changed[key] = true
			}
			if op == dialect.Write {
				showing[key] = append(showing[key], i)
			}
		}
	}
	return s
}

// policy reports whether the policy is p or one that evicts more.
func (s *evictionScan) policy(p Policy) bool {
	now := s.st.engine.config.Policy
	return now == p || now == Bold || now == Adaptive && p == Lossless
}

// mayLeave reports whether a result, and the arguments of its call, may leave at all.
func (s *evictionScan) mayLeave(i int) (text, args bool) {
	res := &s.st.results[i]
	text = i < len(s.st.results)-recent
	args = text
	text = text && !res.locked && !s.stubbed[i] && !res.marked
	text, args = text && res.at.Message >= s.keep, args && res.call.at.Message >= s.keep
	args = args && res.call.editable && !strings.Contains(res.call.args, mark)
	return text, args
}

// chooseAll chooses what leaves of all results and their calls.
func (s *evictionScan) chooseAll() {
	for i := len(s.st.results) - 1; i >= 0; i-- {
		s.st.results[i].eviction = eviction{}
		s.choose(i)
	}
}

// choose chooses what leaves of the i-th result and its call.
func (s *evictionScan) choose(i int) {
	res := &s.st.results[i]
	if res.placeholder || res.shown.Failed {
		return
	}
	text, args := s.mayLeave(i)
	a := &res.call.action
	switch {
	case a.Op == dialect.Read:
		if text && s.idleRead(res) {
			res.evictText(idlePlaceholder(res.paths()), Idle)
		}
	case a.Op == dialect.Output && a.Content != "":
		// the agent's own plan stays
	case a.Op == dialect.Output, a.Op == dialect.Shell, a.Op == dialect.Agent:
		if a.Once {
			return // the model cannot have it again
		}
		s.outputs++
		old := text && s.oldOutput(res)
		if text && old && len(res.text) > worth { // else no placeholder is worth making
			res.evictText(s.st.engine.words.output(a), Command)
		}
		if a.Op == dialect.Agent && args && old {
			res.evictArguments(argument{a.ContentAt, toldPlaceholder})
		}
	case a.Op == dialect.Write:
		large := len(a.Targets) == 1 && len(a.Content) >= large
		if args && s.policy(Bold) && !s.stubbed[i] && large && s.idle(s.st.keys.key(a.Targets[0].Path), 1) {
			res.evictArguments(argument{a.ContentAt, writtenPlaceholder})
			res.eviction.paths = []string{a.Targets[0].Path}
		}
	}
}

// evictText has a result leave for a placeholder, if that is worth it.
func (res *toolResult) evictText(placeholder string, why Reason) {
	if len(placeholder)+worth <= len(res.text) {
		res.eviction.text, res.eviction.why, res.eviction.paths = placeholder, why, res.paths()
	}
}

// reportWait is for how many times [Config.Idle] the report of another agent stays. In recorded
// sessions 3 of 42 reports and prompts that had left earlier were needed again.
const reportWait = 2

// oldOutput reports whether an output may leave. It is past the newest ones. One that
// quotes files must also be long past: edits are made from it. So must what persons wrote in an issue or a pull request under adaptive: it mostly says what the agent is
// to do. The report of another agent stays longest: it takes all of that agent's work to
// have it again.
func (s *evictionScan) oldOutput(res *toolResult) bool {
	c := &s.st.engine.config
	if !s.policy(Adaptive) || c.KeepShell < 0 || s.outputs <= c.KeepShell {
		return false
	}
	age := s.st.turns - res.turn
	if res.call.action.Op == dialect.Agent && !s.policy(Bold) {
		return c.Idle >= 0 && age >= reportWait*c.Idle
	}
	wait := c.Idle
	if s.policy(Bold) {
		wait /= soon
	}
	longPast := c.Idle >= 0 && age >= wait
	if !s.policy(Bold) && res.call.action.ByPersons() {
		return longPast
	}
	return longPast || !res.call.action.Quotes(res.text)
}

// Under bold, texts leave after a part of [Config.Idle]. How long they wait goes by how often a later
// answer needed such a text in recorded sessions: of a hundred reads of files that the agent had
// changed, 3 or 4, however long they were idle; of outputs that quote files, 5. Of reads of other
// files it was 22 after 5 turns and 13 after 15; of written texts 25, and 14 after 30.
const (
	soon  = 6
	later = 2
)

// idle reports whether a file was not touched for [Config.Idle] turns, divided by a number.
func (s *evictionScan) idle(key string, by int) bool {
	c := &s.st.engine.config
	return c.Idle >= 0 && s.st.turns-s.touched[key] >= c.Idle/by
}

// idleRead reports whether all files that a read shows are idle.
func (s *evictionScan) idleRead(res *toolResult) bool {
	if len(res.reads) == 0 || res.staying() || !s.policy(Adaptive) {
		return false
	}
	for j := range res.reads {
		if key := res.reads[j].key; !s.outside(key) && !(s.policy(Bold) && s.past(key)) {
			return false
		}
	}
	return true
}

// past reports whether reads of a file are past use under bold.
func (s *evictionScan) past(key string) bool {
	if s.changed[key] {
		return s.idle(key, soon)
	}
	return s.idle(key, later)
}

// large is how many bytes a text that the agent wrote itself has at least to leave: the
// agent may need it.
const large = 1 << 10
