// Package agent is a coding agent as a library. It sends a request to a model, runs the tools that the model calls, and
// sends another request, until the model makes no more calls. The example is a complete agent on one page of code.
//
// # What is stored, and when
//
// Every event is stored before the next step: the person's message before it is sent, an answer before its calls are run,
// and a result as soon as it exists. So an interrupted conversation can continue where it ended. A call without a result is
// not run again. Instead the model reads that the call may have been done.
//
// # The window
//
// Package trim leaves repeated text out of a request. At a cold point (a request before which the provider's cache is
// empty) it leaves out more. If the next request would take more than a share of the window, the conversation is compacted:
// the model writes a summary, and a new session continues with it. The most important files are attached in their current
// content on disk, and can be edited without being read again. If the model gives no summary, the least important messages
// are left out of the request. The stored session stays complete. The size of the next request is the last reported size
// plus an estimate of the new messages.
//
// # The order of a request
//
// The parts that never change come first: tools, system prompt, variables. They are made once for a [Conversation]. Other
// information for the model is a reminder in the newest message, and is stored with it. For example: another program has
// changed a file, the window is filling up, an answer was cut off. So a message is sent again in the same form as before,
// and the provider reads it from its cache.
package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
)

// Agent is the configuration that its conversations share. Model, Name and Store are required. The zero value of another
// field is its default. The fields must not be changed after the first use. An Agent may be used concurrently.
type Agent struct {
	Model llm.Model
	Name  string        // name of the model, in requests and in the price data
	Tools tool.Caller   // nil: no tools
	Store session.Store // the store of conversations
	Dir   string        // the workspace's directory, for the session and the prompt

	// Files knows the files that were read or written. nil: changes by other programs are not noticed, and no file is
	// attached after a compaction.
	Files Files

	Prompt    Prompt         // system prompt, context variables, reminders
	Engine    trim.Config    // how requests are trimmed
	Limits    Limits         // of the window
	Counter   tokens.Counter // of the model's tokens; nil: the estimate for it
	MaxTokens int            // limit of tokens of one answer, at most a quarter of the window; 0: 8,192, and less where the window is nearly full
	MaxTurns  int            // limit of requests for one prompt; 0: 200
	Parallel  int            // limit of calls that run at once; 0: 8

	// Repeats is how often the same call may have the same result, without a new result in between, before the model is
	// warned. After two more repetitions the Run ends. 0: 3.
	Repeats int

	Client string       // the caller of the tools in the audit trail; "": "stet"
	Log    *slog.Logger // nil: nothing is logged

	once        sync.Once
	engine      *trim.Engine
	broken      error // the error of making the engine
	counter     *tokens.Memo
	model       prices.Model
	checks      bool               // the provider checks signed thinking
	mu          sync.Mutex         // guards calibration, and the meters that use it
	calibration tokens.Calibration // of the model
	learned     sync.Once
}

// Files is what an agent needs to know about the workspace, besides its tools. filetools.Tools implements it.
type Files interface {
	// Tracker returns what the tools have shown and written in a client session.
	Tracker(session string) *freshness.Tracker
	// Look examines a file on disk.
	Look(ctx context.Context, path string, seen freshness.File) (freshness.Sight, error)
	// Changed describes how a file differs from what the client session saw of it. text is a unified diff. If whole is
	// false, it is a sentence that does not describe all changes. An error means that the file has changed since now was
	// taken.
	Changed(ctx context.Context, session string, seen freshness.File, now freshness.Sight) (text string, whole bool, err error)
	// Show returns the current content of a file on disk. If the file has more than limit bytes, Show returns only the
	// lines that the client session was shown before. shown are the observations that record this. An empty text means that
	// the file cannot be shown.
	Show(ctx context.Context, session string, seen freshness.File, limit int) (text string, shown []freshness.Observation, err error)
	// Ignored reports whether a file is never important.
	Ignored(path string) bool
}

// Limits says how much of the model's window is used.
type Limits struct {
	Window  int     // in tokens; 0: the model's window if it is known, otherwise 128,000
	Compact float64 // share of the window at which the conversation is compacted; 0: 0.92, negative: never automatically
	Warn    float64 // share of the window at which the person and the model are warned; 0: 0.80
	Reserve int     // tokens that are kept free besides the answer, at most an eighth of the window; 0: 2 % of the window
}

// Prompt is the beginning of every conversation.
type Prompt struct {
	System    string     // "": the package's default
	Variables []Variable // in their order; variables that change should come last
}

// Variable is a fact about the environment in which the model works: the date, the platform, the project's notes.
type Variable struct {
	Name string
	Text string

	// Shows are observations of the files that the text shows. The model always sees such a file, also after a compaction.
	// A change to it is reported like a change to a file that was read.
	Shows []freshness.Observation
}

func (a *Agent) setUp() error {
	a.once.Do(func() {
		if a.Model == nil || a.Store == nil {
			a.broken = errors.New("an agent needs a model and a store")
			return
		}
		a.model, _ = prices.Lookup(a.Name)
		a.counter = &tokens.Memo{Counter: a.Counter}
		if a.Counter == nil {
			a.counter.Counter = tokens.EstimateFor(a.Name)
		}
		of, ok := a.Model.(llm.ThinkingChecker)
		a.checks = ok && of.ChecksThinking() && prices.ChecksThinking(a.Name)
		c := a.Engine
		c.ChecksThinking = a.checks
		c.BillsThinking = ok && of.ChecksThinking() && a.model.BillsThinking() // of the API that the check is of
		c.Root = cmp.Or(c.Root, a.Dir)
		if c.Window == 0 {
			c.Window = a.window()
		}
		if rule := a.model.Rule(); c.Price == (trim.Price{}) && a.model.ID != "" {
			c.Price = trim.Price{Read: rule.Read, Write: rule.Write}
		}
		c.Logger = cmp.Or(c.Logger, a.Log)
		a.engine, a.broken = trim.New(c)
	})
	return a.broken
}

func (a *Agent) log() *slog.Logger {
	return cmp.Or(a.Log, slog.New(slog.DiscardHandler))
}

// specs returns the tools that a request offers.
func (a *Agent) specs() []tool.Spec {
	if a.Tools == nil {
		return nil
	}
	return a.Tools.Specs()
}

// lifetime returns how long the provider keeps its cache.
func (a *Agent) lifetime() time.Duration {
	if rule := a.model.Rule(); rule.Cached() {
		return rule.Lifetime
	}
	return 5 * time.Minute
}

// With returns a copy of a with other tools. The copy is for separate conversations.
func (a *Agent) With(tools tool.Caller) *Agent {
	return &Agent{
		Model: a.Model, Name: a.Name, Tools: tools, Store: a.Store, Dir: a.Dir, Files: a.Files,
		Prompt: a.Prompt, Engine: a.Engine, Limits: a.Limits, MaxTokens: a.MaxTokens, MaxTurns: a.MaxTurns,
		Parallel: a.Parallel, Repeats: a.Repeats, Client: a.Client, Log: a.Log,
	}
}
