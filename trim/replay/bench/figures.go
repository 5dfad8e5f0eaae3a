package bench

import (
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// Bench is what `stet bench --json` prints. The members of Group are next to
// those of Bench.
type Bench struct {
	Group
	ByFormat  map[string]*Group `json:"by_format"`
	ByStratum map[string]*Group `json:"by_stratum"` // as an index next to the sessions says

	// Reported is the same by the sizes that the provider itself reported, of
	// the sessions where it did. What is hidden in these cannot be cut.
	Reported *Group        `json:"reported"`
	Counting Counting      `json:"counting"`
	Skipped  []replay.Skip `json:"skipped"`
	Damaged  []replay.Skip `json:"damaged"` // sessions that could not be read whole, and what is missing

	Own   map[string]int         `json:"own"`   // sessions by the name of their own cache's rule; see OwnRule
	Cache map[string]*CacheCheck `json:"cache"` // by the name of the recorded cache's rule
}

// OwnRule names, among the price rules of the figures, each session's own: that
// of the cache which its recorded usage shows, with the prices of its model; where
// none is recorded, what the model's provider does when it is not asked; where
// the model is not known either, the first of the others.
const OwnRule = "own"

// RecordedRule names OwnRule with a cache that lives as the recorded usage says: what the provider
// really read from it is charged, and plans are made for what a proxy can know before a request.
const RecordedRule = "recorded"

func namedRule(name string) replay.Rule { return replay.Rule{Rule: prices.Rule{Name: name}} }

// Group is the figures of some sessions.
type Group struct {
	Sessions int       `json:"sessions"`
	Requests int       `json:"requests"`
	Policies []Figures `json:"policies"`

	// ReportedSessions counts the sessions whose bill goes by the sizes that the provider reported, PricedSessions those
	// whose bill is known in dollars, and Head is how many tokens tools and system text have in the middle one of them. Answers is what the answers of all sessions cost,
	// thinking with them, in plain input tokens.
	ReportedSessions int     `json:"reported_sessions"`
	PricedSessions   int     `json:"priced_sessions"`
	Head             int     `json:"head"`
	Answers          float64 `json:"answers"`

	// By the agent that recorded the sessions, and by the repository that they are from, where an index next to the
	// sessions names it. All sessions together and each stratum have these.
	ByAgent      map[string]*Group `json:"by_agent,omitempty"`
	ByRepository map[string]*Group `json:"by_repository,omitempty"`
}

// Figures are one policy's on all sessions of a group. Costs are in plain input
// tokens by price rule, OwnRule among them, each of plans made for that rule's cache; tokens, peak,
// edits and dangling are of the plans for the first rule.
type Figures struct {
	Name   string             `json:"name"`
	Tokens int64              `json:"tokens"`
	Cost   map[string]float64 `json:"cost"`
	// Rel is cost/off − 1 of all sessions together under the first rule;
	// MedianSession and WorstSession are the sessions' own.
	Rel            float64 `json:"rel"`
	Peak           int     `json:"peak"` // tokens of the largest request
	EditsSupported int     `json:"edits_supported"`
	EditsLost      int     `json:"edits_lost"`
	EditsSplit     int     `json:"edits_split"`
	Dangling       int     `json:"dangling"`
	WorstSession   float64 `json:"worst_session"`
	MedianSession  float64 `json:"median_session"`

	WorstFile   string             `json:"worst_file"`
	RelTokens   float64            `json:"rel_tokens"`
	RelByRule   map[string]float64 `json:"rel_by_rule"`
	WorstByRule map[string]float64 `json:"worst_by_rule"`
	LostByRule  map[string]int     `json:"lost_by_rule"`

	// RelRecall, WorstRecall and MedianRecall are RelByRule, WorstByRule and
	// MedianSession with the calls by which the agent would have asked again for what
	// was left out. LeftOut counts the parts left out, Unshown those without a pointer to where the text is, Recalled those
	// asked for again.
	LeftOut      int                `json:"left_out"`
	Unshown      int                `json:"unshown"`
	Recalled     int                `json:"recalled"`
	RelRecall    map[string]float64 `json:"rel_recall"`
	WorstRecall  map[string]float64 `json:"worst_recall"`
	MedianRecall float64            `json:"median_recall"`

	// RecalledByName, RelByName and WorstByName are Recalled, RelRecall and WorstRecall by a stricter count: what an answer
	// names, and does not repeat, also counts as asked for again. Models find some of these names by themselves.
	RecalledByName int                `json:"recalled_by_name"`
	RelByName      map[string]float64 `json:"rel_by_name"`
	WorstByName    map[string]float64 `json:"worst_by_name"`

	// Omitted is what the requests did without, in tokens by reason: a text that stays away counts in each request.
	Omitted map[trim.Reason]int64 `json:"omitted,omitempty"`

	// RelBill is RelRecall of the whole bill: the requests by the sizes that the provider reported, where it did, with what long
	// prompts cost more, and the answers.
	RelBill map[string]float64 `json:"rel_bill"`

	// USD is the whole bill under RecordedRule, after recall, in dollars, of the requests whose model has a known price, and RelUSD the
	// change against off. A session counts by what it cost, and not by its tokens.
	USD    float64 `json:"usd"`
	RelUSD float64 `json:"rel_usd"`

	// The whole bill under RecordedRule, after recall, in plain input tokens: where its change lies in 95 of 100 draws of the repositories, that of the
	// median session, and how many sessions are dearer than without stet: at their end, and after any of their requests.
	BillInterval [2]float64 `json:"bill_interval"`
	MedianBill   float64    `json:"median_bill"`
	Dearer       int        `json:"dearer"`
	DearerAtAny  int        `json:"dearer_at_any_request"`

	// Bound is the same where the provider checks what is before thinking, so that nothing that was sent
	// may be left out. Only policies of package trim have it, and rules that the provider itself applies: it would refuse what the
	// others change.
	Bound *Figures `json:"bound,omitempty"`

	Source  string `json:"source,omitempty"`
	charged map[string]float64
	byName  map[string]float64
}

// Counting is how far the size expected of a request was from the one that was
// then reported, as a share of it, where the request before it was reported too.
type Counting struct {
	Requests int     `json:"requests"`
	Median   float64 `json:"median"`
	P90      float64 `json:"p90"`
}
