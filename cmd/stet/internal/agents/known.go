package agents

import (
	"slices"
	"strings"
)

// The ways from an agent to its provider.
const (
	Directly    = "directly"
	ByBaseURL   = "base URL"
	ByVariables = "base URL + variable"
	ByConnect   = "forward proxy"
)

// known is a difference that is expected.
type known struct {
	agent  string   // "": every agent, because it concerns the connection alone
	since  []int    // only of this version and newer ones; nil: of all
	before []int    // only of versions before this one; nil: of all
	ways   []string // nil: all
	what   []string // Difference.What; a "*" at the end means any rest
	reason string
	keep   string // how the agent sends it all the same; "": it cannot
}

const (
	byConnect  = "the forward proxy (stet wrap --via connect)"
	byVariable = "the variable that stet setup --proxy sets, or the forward proxy (stet wrap --via connect)"
)

// knowns has every difference that an agent's first request may have behind stet, with its reason. Each row was seen in a first request of
// a real agent (TestDoctor in test/e2e). A difference without a row is reported as not known. A row that is kept byConnect alone makes the
// forward proxy the default for these versions of the agent.
var knowns = []known{
	{what: []string{"header accept-encoding"}, reason: "stet reads the answers, and asks for them uncompressed"},
	{what: []string{"header connection", "header sec-websocket-extensions"}, reason: "it concerns one connection alone, and stet has its own"},

	{
		agent: "claude", before: []int{2, 1, 304}, ways: []string{ByBaseURL}, keep: byVariable,
		what:   []string{"beta advanced-tool-use-*", "tool *", "body messages.*"},
		reason: "tool search is off at another host: the descriptions of all tools are in each request",
	},
	{
		agent: "claude", ways: []string{ByBaseURL, ByVariables}, keep: byConnect,
		what:   []string{"beta mid-conversation-system-clear-at-*"},
		reason: "only the provider's own host gets this beta",
	},
	{
		agent: "claude", before: []int{2, 1, 302}, ways: []string{ByBaseURL, ByVariables}, keep: byConnect,
		what: []string{
			"beta cache-diagnosis-*", "beta thinking-binding-controls-*", "beta prompt-caching-scope-*", "body diagnostics", "body system.cache_control.*",
			"header x-claude-*", "header x-client-request-id",
		},
		reason: ownHostAlone + "; in this version the variable would take away other things",
	},
	{
		agent: "claude", ways: []string{ByBaseURL}, keep: byVariable,
		what: []string{
			"beta cache-diagnosis-*", "beta thinking-binding-controls-*", "beta prompt-caching-scope-*", "body diagnostics", "body system.cache_control.*",
			"header x-claude-*", "header x-client-request-id",
		},
		reason: ownHostAlone,
	},

	{
		agent: "qwen", since: []int{0, 16, 0}, ways: []string{ByBaseURL}, what: []string{"body prompt_cache_key"}, keep: byConnect,
		reason: "only OpenAI's own host gets it; requests of a session may reach servers that do not have its cache",
	},
	{
		agent: "pi", since: []int{1, 5, 1}, ways: []string{ByBaseURL}, what: []string{"beta message-threads-*", "body thread"}, keep: byConnect,
		reason: "only the provider's own host gets message threads: each request has the whole conversation",
	},
}

const ownHostAlone = "Claude Code sends betas, the diagnosis and the global scope of the prompt cache, and these headers to its provider's host alone"

// explain adds the reason of a difference that is expected of this version of an agent.
func (d *Difference) explain(agent, version, way string) {
	for _, k := range knowns {
		if (k.agent == "" || k.agent == agent) && k.includes(version) && (k.ways == nil || slices.Contains(k.ways, way)) && slices.ContainsFunc(k.what, d.is) {
			d.Reason, d.Keep, d.Connection = k.reason, k.keep, k.agent == ""
			return
		}
	}
}

// includes reports whether a row is for a version. An unknown version is the newest.
func (k *known) includes(version string) bool {
	at := versionOf(version)
	if at == nil {
		return k.before == nil
	}
	return slices.Compare(at, k.since) >= 0 && (k.before == nil || slices.Compare(at, k.before) < 0)
}

// losesAtBaseURL reports whether a version of an agent leaves out something at a base URL that only the forward proxy keeps.
func losesAtBaseURL(agent, version string) bool {
	return slices.ContainsFunc(knowns, func(k known) bool { return k.agent == agent && k.keep == byConnect && k.includes(version) })
}

// is reports whether a name of a row means this difference.
func (d *Difference) is(what string) bool {
	begin, any := strings.CutSuffix(what, "*")
	return d.What == what || any && strings.HasPrefix(d.What, begin)
}
