package trim

import (
	"fmt"
	"log/slog"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// Engine plans requests under one configuration. It is safe for concurrent use.
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
	setDefault := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	setDefault(&c.KeepReads, 5)
	setDefault(&c.KeepShell, 5)
	setDefault(&c.Window, 200_000)
	setDefault(&c.Idle, 30)
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

// deduplicates reports whether results are deduplicated when they arrive.
func (e *Engine) deduplicates() bool {
	return e.config.Policy == Lossless || e.config.Policy == Adaptive || e.config.Policy == Bold
}

// Plan decides what is left out of a request made of messages, and logs it.
// The messages are not changed. The points are those of the
// conversation so far, in order. A point has no effect if it is after the last message or not after the point before it.
func (e *Engine) Plan(messages []llm.Message, points ...Point) *Plan {
	st := e.NewState()
	for _, p := range points {
		if p.After > st.messages && p.After <= len(messages) {
			st.Add(messages[st.messages:p.After]...)
			st.Cold(p.Why, 0)
		}
	}
	st.Add(messages[st.messages:]...)
	p := st.Plan()
	st.Log(p)
	return p
}

// Build makes the messages of a request out of a conversation. Local messages and
// orphans leave; then the plan is made and applied. It is the
// one place where requests are built. The messages given are not
// changed. The indexes of the plan are those of the messages returned.
func (e *Engine) Build(messages []llm.Message) ([]llm.Message, *Plan) {
	messages = Normalize(messages)
	p := e.Plan(messages)
	return llm.Apply(messages, p.Edits), p
}
