package history

import (
	"fmt"
	"log/slog"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// Engine decides what leaves a request. It is safe for concurrent use.
type Engine struct {
	config Config
	table  *dialect.Table
	words  wording
	log    *slog.Logger
}

// New returns an engine. An unknown policy or language is an error.
func New(c Config) (*Engine, error) {
	if c.Policy == "" {
		c.Policy = Adaptive
	}
	if _, err := ParsePolicy(string(c.Policy)); err != nil {
		return nil, err
	}
	if c.Language != "" && c.Language != "en" && c.Language != "zh" {
		return nil, fmt.Errorf("unknown placeholder language %q: choose en or zh, or give a placeholder of your own", c.Language)
	}
	if c.KeepReads == 0 {
		c.KeepReads = 5
	}
	if c.KeepShell == 0 {
		c.KeepShell = 5
	}
	if c.Window == 0 {
		c.Window = 200_000
	}
	if c.Idle == 0 {
		c.Idle = 30
	}
	e := &Engine{config: c, table: c.Dialects, words: wording{c.Language, c.Placeholder}, log: c.Logger}
	if e.table == nil {
		e.table = dialect.Default()
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	return e, nil
}

// Policy returns the policy in force.
func (e *Engine) Policy() Policy { return e.config.Policy }

// admits reports whether repeats are shortened when they arrive.
func (e *Engine) admits() bool {
	return e.config.Policy == Lossless || e.config.Policy == Adaptive || e.config.Policy == Bold
}

// Plan decides what is left out of a request made of messages, and logs it
// (TRIM-14). The messages are not changed (TRIM-1). The breaks, in order, are
// the moments of the conversation so far; one after the last of the messages
// is none of theirs.
func (e *Engine) Plan(messages []llm.Message, breaks ...Point) *Plan {
	f := e.NewState()
	f.Grow(messages, breaks)
	p := f.Plan()
	f.Log(p)
	return p
}

// Log logs p, the plan that f made of all messages added (TRIM-14).
func (f *State) Log(p *Plan) {
	log := f.engine.log
	if f.lost > 0 {
		log.Debug("reads without a path are kept whole", "results", f.lost)
	}
	if len(p.Omissions) > 0 {
		log.Info("left out of the request", "results", len(p.Omissions), "paths", p.paths(10),
			"bytes", p.Saved, "tokens", p.Saved*10/36, "dangling", p.Dangling)
	}
}

// paths lists the files of the plan, each once, max at most.
func (p *Plan) paths(max int) []string {
	seen := make(map[string]bool)
	var out []string
	for _, t := range p.Omissions {
		for _, s := range t.Paths {
			if !seen[s] && len(out) < max {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// Build makes the messages of a request out of a conversation: local messages
// and orphans leave (CTX-3, TRIM-13), the plan is made and applied. It is the
// one place where requests are built (TRIM-12). The messages given are not
// changed. The plan's indexes are into the messages returned.
func (e *Engine) Build(messages []llm.Message) ([]llm.Message, *Plan) {
	messages = Normalize(messages)
	p := e.Plan(messages)
	return llm.Apply(messages, p.Edits), p
}
