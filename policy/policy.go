// Package policy decides about calls: allow, deny, or ask a person. It does no
// I/O and keeps no state.
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
// The first rule that matches decides. Where none matches, reads are allowed and
// writes are asked for. After the rules come the cautions, for writes. No rule and no
// grant lifts them. Control files, executables, files with other names and files whose
// mode forbids writing are asked for each time, and refused where there is no person
// to ask. (FILE-13) Build files and instructions for agents are asked for each time
// too; unattended they are written, and the audit trail says so.
//
// A rule's paths match the path that a call names. A search or a listing below a
// directory leaves out the files that Hides names.
package policy

import (
	"fmt"
	"slices"

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

var actions = names{typ: "Action", want: "allow, ask or deny", of: []string{Ask: "ask", Allow: "allow", Deny: "deny"}}

func (a Action) String() string { return actions.name(uint8(a)) }

// MarshalText returns the action's name.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes "ask", "allow" or "deny".
func (a *Action) UnmarshalText(text []byte) error { return actions.parse(text, (*uint8)(a)) }

// Access is what a rule is about. A call is a write when it has something to
// apply.
type Access uint8

// The kinds of access.
const (
	Any Access = iota
	Read
	Write
)

var accesses = names{typ: "Access", want: "read or write", of: []string{Any: "", Read: "read", Write: "write"}}

func (a Access) String() string { return accesses.name(uint8(a)) }

// MarshalText returns "", "read" or "write".
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes "", "read" or "write".
func (a *Access) UnmarshalText(text []byte) error { return accesses.parse(text, (*uint8)(a)) }

// Rule says what to do about the calls it matches. The zero Rule asks for
// everything.
type Rule struct {
	Tools []Pattern `toml:"tools" json:"tools,omitempty"` // of the tool's name; none: every tool
	Paths []Pattern `toml:"paths" json:"paths,omitempty"` // of the path; none: every path, and calls without one
	On    Access    `toml:"on" json:"on,omitempty"`
	Do    Action    `toml:"do" json:"do"`
}

// Policy decides. The zero Policy allows reads and asks for writes. It may be
// used concurrently while it is not changed.
type Policy struct {
	Rules []Rule `toml:"rule" json:"rule,omitempty"`

	// Project are rules that came with a checkout, and so are not trusted:
	// they count only where they are stricter than what is decided without
	// them (allow, ask, deny).
	Project []Rule `toml:"-" json:"-"`

	// Unattended allows the writes that would be asked for because no rule
	// matches. What else is asked for is refused.
	Unattended bool `toml:"unattended" json:"unattended,omitempty"`

	// Unread is what to do when a file is overwritten that the session never
	// read, or that changed since and cannot be merged: Ask, also where it is granted;
	// Deny; or Allow, which leaves it to the rules.
	Unread Action `toml:"unread" json:"unread"`

	// Relay are the tools for which the answer of a client, who says that it
	// asked its person, is as good as a person's. It never is where a caution
	// made us ask.
	Relay []Pattern `toml:"relay" json:"relay,omitempty"`
}

// Request is a call as policy sees it.
type Request struct {
	Tool     string
	Path     string // relative to the workspace, links resolved; "" where there is none
	Write    bool   // it has something to apply
	Notes    []tool.Note
	Grants   []Rule // what a person has allowed this session, the oldest first; tool.Outside needs one that names the tool
	NoPerson bool   // there is no person who could be asked
}

// Decision is what was decided, and what decided it.
type Decision struct {
	Action Action
	Rule   string // what decided, in a few words: "default", "rule 2", "grant docs/**", "control file"
	Why    string // for Deny: one sentence for the model

	// Grantable says that an answer may hold for later calls too: a rule or the
	// default asks, and no caution.
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
		d.Action, d.Why = Deny, "a person must confirm this, and nobody can be asked here"
		return d
	}
	d.Grantable = true
	d.Relay = slices.ContainsFunc(p.Relay, func(t Pattern) bool { return t.Match(r.Tool) })
	return d
}

// Hides reports whether a search or a listing leaves a file out, since a call that
// named it would be refused or asked for. A rule for some tools alone counts as if it
// were for all tools if it asks or denies, and does not count if it allows.
func (p *Policy) Hides(path string) bool {
	hides := func(rules []Rule) bool {
		for _, rule := range rules {
			if rule.Do == Allow && len(rule.Tools) > 0 {
				continue
			}
			rule.Tools = nil
			if rule.matches(Request{Path: path}) {
				return rule.Do != Allow
			}
		}
		return false
	}
	return hides(p.Rules) || hides(p.Project)
}

// ruled is what the rules say, and whether no rule matches.
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

// Stricter reports whether d holds back more than e, or gives less away.
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

// granted returns the first grant that matches. A grant for all files is none for
// tools whose effect is outside of the workspace.
func granted(r Request) (Rule, bool) {
	outside := slices.Contains(r.Notes, tool.Outside)
	for _, g := range r.Grants {
		if g.matches(r) && (!outside || len(g.Tools) > 0) {
			return g, true
		}
	}
	return Rule{}, false
}

// matches reports whether the rule is about the request. A rule that allows matches
// letter by letter. One that asks or denies ignores case and Unicode composition, as
// file systems may.
func (rule Rule) matches(r Request) bool {
	if rule.On == Read && r.Write || rule.On == Write && !r.Write {
		return false
	}
	match := Pattern.matchFolded
	if rule.Do == Allow {
		match = Pattern.Match
	}
	some := func(patterns []Pattern, s string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p Pattern) bool { return s != "" && match(p, s) })
	}
	return some(rule.Tools, r.Tool) && some(rule.Paths, r.Path)
}

// scope is what a grant covers, for the record.
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
