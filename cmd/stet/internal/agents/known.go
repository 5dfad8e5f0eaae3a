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
	before []int    // only of versions before this one; nil: of all
	ways   []string // nil: all
	what   []string // Difference.What; a "*" at the end stands for any rest
	reason string
	keep   string // how the agent sends it all the same; "": it cannot
}

const (
	byConnect  = "the forward proxy (stet wrap --via connect)"
	byVariable = "the variable that stet setup --proxy sets, or the forward proxy (stet wrap --via connect)"
)

// knowns has every difference that an agent's first request may have behind stet, with its reason. Each row was seen in a first request of
// a real agent (TestDoctor in test/e2e). A difference without a row is reported as not known.
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
		agent: "qwen", ways: []string{ByBaseURL}, what: []string{"body prompt_cache_key"}, keep: byConnect,
		reason: "only OpenAI's own host gets it; requests of a session may reach servers that do not have its cache",
	},
	{
		agent: "pi", ways: []string{ByBaseURL}, what: []string{"beta message-threads-*", "body thread"}, keep: byConnect,
		reason: "only the provider's own host gets message threads: each request has the whole conversation",
	},
}

const ownHostAlone = "Claude Code sends betas, the diagnosis and the global scope of the prompt cache, and these headers to its provider's host alone"

// explain adds the reason of a difference that is expected of this version of an agent. An unknown version is the newest.
func (d *Difference) explain(agent, version, way string) {
	at := versionOf(version)
	for _, k := range knowns {
		old := k.before == nil || at != nil && slices.Compare(at, k.before) < 0
		if (k.agent == "" || k.agent == agent) && old && (k.ways == nil || slices.Contains(k.ways, way)) && slices.ContainsFunc(k.what, d.is) {
			d.Reason, d.Keep, d.Connection = k.reason, k.keep, k.agent == ""
			return
		}
	}
}

// is reports whether a name of a row means this difference.
func (d *Difference) is(what string) bool {
	begin, any := strings.CutSuffix(what, "*")
	return d.What == what || any && strings.HasPrefix(d.What, begin)
}
