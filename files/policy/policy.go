// Package policy decides about calls: allow, deny, or ask a person. It does no I/O and keeps no state.
//
// A policy is plain data. In TOML:
//
//	unattended = false        # true: --write-without-asking
//	unread = "ask"            # overwriting what the session never read
//	relay = ["write_*"]       # tools for which an answer through the client suffices
//
//	[[rule]]
//	tools = ["edit_file", "write_*"]   # none: all tools
//	paths = ["docs/**", "*.md"]        # none: all paths; see Pattern
//	on    = "write"                    # or "read"; none: both
//	do    = "allow"                    # or "ask", "deny"
//
// The first rule that matches decides. If no rule matches, reads are allowed and a person is asked about writes. After the rules
// come the cautions, for writes. No rule and no grant removes them. A person is asked each time about control files, executables,
// files with other names and files whose mode forbids writing. If there is no person, such a write is refused. A person
// is also asked each time about build files and instructions for agents. Unattended, these are written, and the audit trail records
// it.
//
// A rule's paths match the path that a call names. A search or a listing below a directory leaves out the files that Hides returns.
//
// A rule that asks or denies is understood as widely as its words can be: a name is that of a file or a directory, with all below,
// and a tool stands for all tools that show or change the same. A rule that allows is understood to the letter.
//
// Reading a secret is asked about too: see Policy.Secrets.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/tool"
)

// Action is what to do about a call.
type Action uint8

// The actions.
const (
	Ask Action = iota // a person decides
	Allow
	Deny
)

var actions = enum{typ: "Action", want: "allow, ask or deny", of: []string{Ask: "ask", Allow: "allow", Deny: "deny"}}

func (a Action) String() string { return actions.name(uint8(a)) }

// MarshalText returns the action's name.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes "ask", "allow" or "deny".
func (a *Action) UnmarshalText(text []byte) error { return actions.parse(text, (*uint8)(a)) }

// Access is the kind of call that a rule matches. A call is a write if its plan has a change.
type Access uint8

// The kinds of access.
const (
	Any Access = iota
	Read
	Write
)

var accesses = enum{typ: "Access", want: "read or write", of: []string{Any: "", Read: "read", Write: "write"}}

func (a Access) String() string { return accesses.name(uint8(a)) }

// MarshalText returns "", "read" or "write".
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes "", "read" or "write".
func (a *Access) UnmarshalText(text []byte) error { return accesses.parse(text, (*uint8)(a)) }

// Rule says what to do about the calls it matches. The zero Rule asks for
// everything.
type Rule struct {
	Tools []Pattern `toml:"tools" json:"tools,omitempty"` // patterns of the tool's name; none: every tool
	Paths []Pattern `toml:"paths" json:"paths,omitempty"` // patterns of the path; none: every path, and calls without one

	// Commands are the beginnings of commands that an agent's own shell runs, in words ("git push", "rm -rf *"); none: all calls. A rule with
	// commands is about commands alone.
	Commands []Command `toml:"commands" json:"commands,omitempty"`

	On Access `toml:"on" json:"on,omitempty"`
	Do Action `toml:"do" json:"do"`
}

// Policy decides about calls. The zero Policy allows reads and asks about writes. It may be used concurrently while it is not
// changed.
type Policy struct {
	Rules []Rule `toml:"rule" json:"rule,omitempty"`

	// Project has rules that came with a checkout. They are not trusted: they count only if they are stricter than the decision
	// without them (allow, ask, deny).
	Project []Rule `toml:"-" json:"-"`

	// Unattended allows writes that a person would be asked about because no rule matches. Other calls that need a question are
	// refused.
	Unattended bool `toml:"unattended" json:"unattended,omitempty"`

	// Unread says what to do with a write to an existing file that the session did not read, or that changed since and cannot be
	// merged. Ask also asks if there is a grant. Allow leaves it to the rules.
	Unread Action `toml:"unread" json:"unread"`

	// Secrets says what to do with a call that shows what is in a file of keys or passwords: see Secret. Ask asks each time, whatever
	// the rules allow; if there is no person, the call is refused. Allow leaves it to the rules.
	Secrets Action `toml:"secrets" json:"secrets"`

	// Relay names the tools for which a client may relay its person's answer. It does not hold if a caution made stet ask.
	Relay []Pattern `toml:"relay" json:"relay,omitempty"`
}

// Request is a call as policy sees it.
type Request struct {
	Tool     string
	Path     string   // relative to the workspace, links resolved; "": none
	Write    bool     // the call changes something
	Words    []string // the words of a command that a shell is to run; "": not known before it runs; nil: the call is none
	Restrict bool     // of an agent's own tool: no rule that allows counts
	Unsure   bool     // of Words: one that is not known may be an option
	Notes    []tool.Note
	Grants   []Rule // what a person allowed this session, the oldest first; a tool.Outside call needs a grant that names the tool
	NoPerson bool   // there is no person to ask
}

// Decision is a decision and its reason.
type Decision struct {
	Action Action
	Rule   string // the reason in a few words: "default", "rule 2", "grant docs/**", "control file"
	Why    string // for Deny: one sentence for the model

	// Grantable says that an answer may also hold for later calls: a rule or the default asks, not a caution.
	Grantable bool
	Relay     bool // a client may relay the answer
}

// Decide decides about a call.
func (p *Policy) Decide(r Request) Decision {
	d, byDefault := p.ruled(r)
	if d.Action == Deny {
		return d
	}
	if c, ok := p.caution(r); ok {
		if c.deny || r.NoPerson || p.Unattended {
			return Decision{Action: Deny, Rule: c.rule, Why: c.why}
		}
		return Decision{Action: Ask, Rule: c.rule}
	}
	if d.Action != Ask {
		return d
	}
	if g, ok := granted(r); ok && g.Do == Allow {
		return Decision{Action: Allow, Rule: "grant " + g.scope()}
	}
	if p.Unattended && byDefault {
		return Decision{Action: Allow, Rule: "unattended"}
	}
	if p.Unattended || r.NoPerson {
		d.Action, d.Why = Deny, "a person must confirm this, but there is no person to ask"
		return d
	}
	d.Grantable = true
	d.Relay = slices.ContainsFunc(p.Relay, func(t Pattern) bool { return t.Match(r.Tool) })
	return d
}

// Hides reports whether a search or a listing leaves a file out, because a call that reads it would be refused or asked about by
// rule. A rule that allows, for only some tools, does not count.
func (p *Policy) Hides(path string) bool {
	hides := func(rules []Rule) bool {
		for _, rule := range rules {
			if rule.Do == Allow && len(rule.Tools) > 0 {
				continue
			}
			if rule.matches(Request{Tool: "search_text", Path: path}) {
				return rule.Do != Allow
			}
		}
		return false
	}
	return hides(p.Rules) || hides(p.Project)
}

// ruled returns the decision of the rules, and whether no rule matches.
func (p *Policy) ruled(r Request) (d Decision, byDefault bool) {
	d, byDefault = Decision{Action: Allow, Rule: "default"}, true
	if r.Write {
		d.Action = Ask
	}
	if rule, i, ok := find(p.Rules, r); ok {
		d, byDefault = Decision{Action: rule.Do, Rule: fmt.Sprintf("rule %d", i+1)}, false
	}
	if rule, i, ok := find(p.Project, r); ok && strictness(rule.Do) > strictness(d.Action) {
		d, byDefault = Decision{Action: rule.Do, Rule: fmt.Sprintf("project rule %d", i+1)}, false
	}
	if d.Action == Deny {
		d.Why = fmt.Sprintf("policy denies this (%s); do not try to get around it", d.Rule)
	}
	return d, byDefault
}

// Ruled returns the decision of the rules alone about a call of an agent's own tool. ok is false if none decides. A rule that allows counts only where it
// is surely about the call: see covers.
func (p *Policy) Ruled(r Request) (d Decision, ok bool) {
	first := func(rules []Rule, name string, allow bool) bool {
		for i, rule := range rules {
			if rule.matches(r) && (rule.Do != Allow || allow && p.covers(rule, r)) {
				d, ok = Decision{Action: rule.Do, Rule: fmt.Sprintf(name+" %d", i+1)}, true
				return true
			}
		}
		return false
	}
	byPerson := first(p.Rules, "rule", true)
	if before := d; first(p.Project, "project rule", false) && byPerson && strictness(d.Action) <= strictness(before.Action) {
		d = before
	}
	if d.Action == Deny {
		d.Why = fmt.Sprintf("policy denies this (%s); do not try to get around it", d.Rule)
	}
	return d, ok
}

// covers reports whether a rule that allows is about a call of an agent's own tool. A rule for files does not allow commands, tools that
// name no file, files outside of the workspace, or what a caution is about.
func (p *Policy) covers(rule Rule, r Request) bool {
	if r.Restrict {
		return false
	}
	if r.Words != nil || r.Path == "" {
		named := slices.ContainsFunc(rule.Tools, func(t Pattern) bool { return strings.Trim(t.String(), "*?") != "" && t.Match(r.Tool) })
		return len(rule.Commands) > 0 || named
	}
	_, careful := p.caution(r)
	return !outside(r) && !careful
}

// Stricter reports whether d allows less than e.
func (d Decision) Stricter(e Decision) bool {
	if d.Action != e.Action {
		return strictness(d.Action) > strictness(e.Action)
	}
	return d.Action == Ask && (e.Grantable && !d.Grantable || e.Grantable == d.Grantable && e.Relay && !d.Relay)
}

func strictness(a Action) int {
	switch a {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2
}

// find returns the first rule that matches.
func find(rules []Rule, r Request) (Rule, int, bool) {
	for i, rule := range rules {
		if rule.matches(r) {
			return rule, i, true
		}
	}
	return Rule{}, 0, false
}

// granted returns the first grant that matches. A grant for all files does not cover tools that act outside of the workspace.
func granted(r Request) (Rule, bool) {
	for _, g := range r.Grants {
		if g.matches(r) && (!outside(r) || len(g.Tools) > 0) {
			return g, true
		}
	}
	return Rule{}, false
}

// matches reports whether the rule matches the request. A rule that allows compares exactly. One that asks or denies takes more:
// see restricts; and if it names a tool for reading or writing, it is about all tools that show or change the same.
func (rule Rule) matches(r Request) bool {
	if len(rule.Commands) > 0 && !slices.ContainsFunc(rule.Commands, func(c Command) bool { return r.Words != nil && c.begins(rule.Do, r.Words, r.Unsure) }) {
		return false
	}
	does := Effect(0)
	if rule.Do != Allow {
		does = effectOf(r)
	}
	if rule.On == Read && r.Write && does&Shows == 0 || rule.On == Write && !r.Write {
		return false
	}
	if !rule.About(r.Path) {
		return false
	}
	return len(rule.Tools) == 0 || rule.Names(r.Tool) || !outside(r) && rule.about()&does != 0
}

// About reports whether the rule's paths match a path; "": there is none.
func (rule Rule) About(path string) bool {
	return len(rule.Paths) == 0 || path != "" && matchesAny(rule.Do, rule.Paths, path)
}

// matchesAny reports whether one of a rule's patterns matches.
func matchesAny(do Action, patterns []Pattern, s string) bool {
	match := Pattern.restricts
	if do == Allow {
		match = Pattern.allows
	}
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return match(p, s) })
}

// outside reports whether a tool that is not stet's acts outside of the workspace.
func outside(r Request) bool { return slices.Contains(r.Notes, tool.Outside) }

// scope returns what a grant covers, for the record.
func (rule Rule) scope() string {
	named := rule.Paths
	if len(named) == 0 {
		named = rule.Tools
	}
	if len(named) == 0 {
		return "session"
	}
	s := ""
	for i, p := range named {
		if i > 0 {
			s += " "
		}
		s += p.String()
	}
	return s
}

// enum has the names of the values of an enumeration, in their order.
type enum struct {
	typ, want string // for messages
	of        []string
}

func (n enum) name(value uint8) string {
	if int(value) < len(n.of) {
		return n.of[value]
	}
	return fmt.Sprintf("%s(%d)", n.typ, value)
}

// parse sets the value that has the name.
func (n enum) parse(name []byte, value *uint8) error {
	i := slices.Index(n.of, string(name))
	if i < 0 {
		return fmt.Errorf("unknown %s %q: want %s", strings.ToLower(n.typ), name, n.want)
	}
	*value = uint8(i)
	return nil
}
