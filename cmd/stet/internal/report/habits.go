package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// Habits is the output of `stet savings --habits --json`: what costs more than any text that could be left out.
type Habits struct {
	Sessions int     `json:"sessions"`
	USD      float64 `json:"usd"` // of all requests with a known price
	Habits   []Habit `json:"habits"`

	prices       *prices.Catalog
	since, until time.Time // requests of other times are left out; zero: open
	recorded     map[string]bool
	counted      map[[3]int]bool // the requests of recordings: the tokens of the prompt, those that were read from the cache, and those of the answer
	live         map[asker]*chain
	tools        map[uint64][]record.OfferedTool
	calls        map[asker][]string
	used         map[[2]string]bool // by client and tool
}

// NewHabits returns sums of nothing, for requests of a time.
func NewHabits(c *prices.Catalog, since, until time.Time) *Habits {
	return &Habits{
		Habits: []Habit{}, prices: c, since: since, until: until, recorded: map[string]bool{}, counted: map[[3]int]bool{}, live: map[asker]*chain{},
		tools: map[uint64][]record.OfferedTool{}, calls: map[asker][]string{}, used: map[[2]string]bool{},
	}
}

// Habit is something that costs money again and again.
type Habit struct {
	Name     string    `json:"name"`
	USD      float64   `json:"usd"`
	Count    int       `json:"count"` // of requests
	Advice   string    `json:"advice"`
	Examples []Example `json:"examples"` // the two most expensive
}

// Example is a request that a person can look at: "stet cache SESSION", or the page.
type Example struct {
	Session string    `json:"session"`
	Open    string    `json:"open"` // a command
	Title   string    `json:"title,omitempty"`
	Request int       `json:"request,omitempty"` // its number in the session; 0: not known
	Time    time.Time `json:"time,omitzero"`
	USD     float64   `json:"usd"`
}

// advice says for each place at which the prompt cache broke who caused it, and what stops it.
var advice = map[replay.Part]string{
	replay.PartGap:     "go on before the cache ends (stet cache --watch says when), or begin a new conversation instead of resuming a long one",
	replay.PartModel:   "choose the model at the start of a conversation: each model has a cache of its own",
	replay.PartTools:   "the agent changed its tools: do not connect or remove MCP servers, or change the permission mode, in the middle of a conversation",
	replay.PartSystem:  "the agent changed its system text: take clocks, git status and what else changes out of instructions and output styles",
	replay.PartHead:    "a recording does not say why: the agent changed tools or system text, or the provider dropped the cache; of requests through stet it is known (stet cache --live)",
	replay.PartMessage: "the agent changed an earlier message: a rewind, an edit of the history, or its own clearing of old results",
	replay.PartContext: "the agent began a new context: a compaction; begin a new conversation for a new task",
	replay.PartStet:    "stet left out what had been sent; the policy lossless or keep-latest does it less",
	replay.PartMarker:  "the agent sets its cache markers too far apart: many calls of tools in one answer",
	"settings":         "a setting changed: keep the effort, the thinking budget and the service tier of a conversation as they are",
	partDropped:        "the provider's cause: it dropped a cache that should have lived; no setting stops it",
}

// habits names what counts as a habit, by the place at which the cache broke.
var habits = map[replay.Part]string{
	replay.PartGap: "cold resumes", replay.PartModel: "another model in mid-session",
	replay.PartTools: changedHead, replay.PartSystem: changedHead, replay.PartHead: lostHead,
}

const (
	changedHead = "system text or tools that change"
	lostHead    = "caches lost in mid-session"
	unusedTools = "tools that were never used"
)

// AddRecording adds a recorded session, once, which path is the file of.
func (h *Habits) AddRecording(s *transcript.Session, path string) {
	if h.recorded[s.ID] {
		return
	}
	counted, title := 0, ""
	for _, e := range accountOf(s, h.prices) {
		h.recorded[s.ID] = true
		h.counted[sizesOf(e.Usage)] = true
		if e.Time.Before(h.since) || !h.until.IsZero() && !e.Time.Before(h.until) {
			continue
		}
		if counted++; counted == 1 {
			title, _ = replay.TitlesOf(s)
		}
		h.entry(&e, Example{Session: s.ID, Open: "stet cache " + agents.ShellWord(path), Title: title})
	}
	if counted > 0 {
		h.Sessions++
	}
}

func sizesOf(u llm.Usage) [3]int { return [3]int{u.Prompt(), u.CacheRead, u.Output} }

// AddRequest adds a request that the proxy recorded. Requests come in the order of time. An agent's own file says the same of a session, and
// more, so that one counts if both are there. Some agents name no session in their requests: those are known by their tokens.
func (h *Habits) AddRequest(r *record.Request) {
	who := asker{r.Conversation, r.Agent}
	for _, tool := range h.calls[who] {
		h.used[[2]string{r.Client, tool}] = true
	}
	if h.recorded[r.Conversation] || r.API == record.CountTokens || r.Usage.Prompt() == 0 || h.counted[sizesOf(r.Usage)] {
		return
	}
	c := h.live[who]
	if c == nil {
		c = &chain{}
		h.live[who] = c
		h.Sessions++
	}
	e := c.next(r, h.prices)
	if !h.since.IsZero() {
		e.Number = 0 // the command counts from the first request
	}
	h.entry(&e, Example{Session: r.Conversation, Open: "stet cache --live --last 0 " + agents.ShellWord(r.Conversation)})
}

// entry adds what a request has cost because of a habit. at says which session it is of.
func (h *Habits) entry(e *replay.Entry, at Example) {
	h.USD += e.Cost
	name, says := habits[e.Part], advice[e.Part]
	if name == "" || e.Extra <= 0 {
		return
	}
	if name == changedHead {
		says = "the agent changed tools or system text: do not connect MCP servers in mid-conversation, and take clocks and git status out of instructions"
	}
	at.Request, at.Time, at.USD = e.Number, e.Time, e.Extra
	h.add(name, says, at)
}

// add adds a request to a habit.
func (h *Habits) add(name, advice string, e Example) {
	i := slices.IndexFunc(h.Habits, func(have Habit) bool { return have.Name == name })
	if i < 0 {
		i = len(h.Habits)
		h.Habits = append(h.Habits, Habit{Name: name, Advice: advice})
	}
	at := &h.Habits[i]
	at.USD += e.USD
	at.Count++
	same := slices.IndexFunc(at.Examples, func(have Example) bool { return have.Session == e.Session })
	if same >= 0 && at.Examples[same].USD >= e.USD {
		return
	}
	if same >= 0 {
		at.Examples = slices.Delete(at.Examples, same, same+1)
	}
	at.Examples = append(at.Examples, e)
	slices.SortStableFunc(at.Examples, func(a, b Example) int { return cmp.Compare(b.USD, a.USD) })
	at.Examples = at.Examples[:min(len(at.Examples), 2)]
}

// Offered says which tools are offered and called. It comes before the first request.
func (h *Habits) Offered(sets []record.ToolSet, calls []record.ToolCalls) {
	for _, s := range sets {
		h.tools[s.ID] = s.Tools
	}
	for _, c := range calls {
		who := asker{c.Conversation, c.Agent}
		h.calls[who] = append(h.calls[who], c.Tool)
	}
}

// AddTools adds the tools that a request offers and that its agent never called in any of its conversations. It comes after all requests were
// added. Their text is priced as the rest of the prompt was: read from the cache where that was read.
func (h *Habits) AddTools(r *record.Request) {
	tokens, names := 0, []string(nil)
	for _, t := range h.tools[r.ToolSet] {
		if !h.used[[2]string{r.Client, t.Name}] {
			tokens, names = tokens+t.Tokens, append(names, t.Name)
		}
	}
	if tokens == 0 {
		return
	}
	m, _ := h.prices.Lookup(r.Model)
	if _, cost, known := m.Bill(without(r.Usage, tokens), r.Usage); known && cost > 0 {
		h.add(unusedTools, "remove them, or their MCP server, from the agent's configuration; --json names them all",
			Example{r.Conversation, "stet cache --live " + agents.ShellWord(r.Conversation), strings.Join(names, ", "), 0, r.Time, cost})
	}
}

// without is u with so many tokens less in the beginning of the prompt, which is what is read from the cache.
func without(u llm.Usage, tokens int) llm.Usage {
	for _, part := range []*int{&u.CacheRead, &u.CacheWrite, &u.Input} {
		n := min(tokens, *part)
		*part, tokens = *part-n, tokens-n
	}
	u.CacheWrite1h = min(u.CacheWrite1h, u.CacheWrite)
	return u
}

// Print writes the habits for people, the most expensive first.
func (h *Habits) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s in all\n", Count(h.Sessions, "session"), inDollars(h.USD))
	if len(h.Habits) == 0 {
		fmt.Fprintln(w, "no cold resumes, model switches, changing system texts or unused tools that cost anything")
	}
	for _, habit := range slices.SortedStableFunc(slices.Values(h.Habits), func(a, b Habit) int { return cmp.Compare(b.USD, a.USD) }) {
		fmt.Fprintf(w, "\n%s: %s in %s\n", Bold(habit.Name), inDollars(habit.USD), Count(habit.Count, "request"))
		fmt.Fprintf(w, "  %s\n", habit.Advice)
		for _, e := range habit.Examples {
			what := cmp.Or(OneLine(e.Title), e.Session)
			if e.Request > 0 {
				what = fmt.Sprintf("request %d of %s", e.Request, what)
			}
			fmt.Fprintln(w, Faint(fmt.Sprintf("  %s  %s  %s: %s", e.Time.Local().Format("01-02 15:04"), inDollars(e.USD), Cropped(what, 60), e.Open)))
		}
	}
	fmt.Fprintln(w, Faint("\nAt list prices. Nothing is added to prompts; these are habits of people and agents."))
}

// printAdvice writes what stops each kind of break.
func printAdvice(w io.Writer, breaks []cacheBreak) {
	for _, b := range breaks {
		if text := advice[replay.Part(b.Broke)]; text != "" {
			fmt.Fprintln(w, Faint(fmt.Sprintf("%s: %s", b.Broke, text)))
		}
	}
}
