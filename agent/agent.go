// Package agent is a coding agent as a library. It asks a model, runs the tools
// that the model calls, and asks again, until the model makes no more calls. The
// example shows that a working agent takes a page of code.
//
// # What is stored, and when
//
// Every event is stored before the next step: the person's message before it is
// sent, an answer before its calls are run, a result as soon as it exists. So a
// conversation that was interrupted goes on where it was. A call without a
// result is not run again: the model is told that it may have been done.
//
// # The window
//
// Package history leaves repeated text out of a request, and more at a cold
// point (a request before which the provider's cache is empty). Past a share of
// the window the conversation is compacted: the model writes a summary, and a
// new session goes on with it. The most important files are attached as they are
// on disk, and can be edited without being read again. If the model gives no
// summary, the least important messages are left out of the request. The stored
// session stays whole. The size of the next request is the one last reported,
// plus an estimate of what is new.
//
// # The order of a request
//
// What never changes comes first: tools, system prompt, variables. They are made
// once for a [Conversation]. What the model should know besides (a file that
// another program changed, a window that fills up, an answer that was cut off)
// is a reminder in the newest message, and stored with it. So what was sent once
// is sent the same way again, and is read from the provider's cache.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/freshness"
	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/tool"
)

// Agent is what its conversations have in common. Model, Name and Store are
// needed; the zero value of the others is the default. The fields are not to be
// changed once it is in use. It may be used concurrently.
type Agent struct {
	Model llm.Model
	Name  string        // of the model, in requests and in the price data
	Tools tool.Caller   // nil: none
	Store session.Store // where conversations are kept
	Dir   string        // the workspace, for the session and the prompt

	// Files knows what was seen of files, and whether it is still so. Nil: changes
	// by other programs are not noticed, and no file is attached after a compaction.
	Files Files

	Prompt    Prompt         // system prompt, context variables, reminders
	Engine    history.Config // how requests are trimmed
	Limits    Limits         // of the window
	MaxTokens int            // of one answer; 0: 8,192, or what the model allows
	MaxTurns  int            // requests for one prompt; 0: 200
	Parallel  int            // calls that run at once; 0: 8

	// Repeats is how often the same call may have the same result, with nothing
	// new in between, before the model is told. Two more end the Run. 0: 3.
	Repeats int

	// Tasks is the sub-agent that does the tasks of the tool [TaskTool], each in a
	// session and a window of its own. Nil: there is no such tool. Its own Tasks
	// should be nil, so that tasks do not nest.
	Tasks *Agent

	Client string       // who calls the tools, for the audit trail; "": "stet"
	Log    *slog.Logger // nil: silence

	once        sync.Once
	engine      *history.Engine
	broken      error // why the engine could not be made
	counter     *tokens.Memo
	model       prices.Model
	checks      bool               // the provider checks bound thinking
	mu          sync.Mutex         // guards calibration, and meters that use it
	calibration tokens.Calibration // of the model
}

// Files is what an agent knows of the workspace besides its tools. filetools.Tools
// implements it.
type Files interface {
	// Tracker is what the tools have shown and written in a client session.
	Tracker(session string) *freshness.Tracker
	// Look looks at a file on disk.
	Look(ctx context.Context, path string, seen freshness.File) (freshness.Sight, error)
	// Changed says how a file differs from what the client session saw of it: by a
	// unified diff, or, if whole is false, by a sentence that does not say all. An
	// error means that the file is no longer what now describes.
	Changed(ctx context.Context, session string, seen freshness.File, now freshness.Sight) (text string, whole bool, err error)
	// Show returns a file as it is on disk now. If it has more than limit bytes, it
	// returns only the lines that the client session was shown before. shown is what
	// the session then has seen. An empty text means that the file cannot be shown.
	Show(ctx context.Context, session string, seen freshness.File, limit int) (text string, shown []freshness.Observation, err error)
	// Ignored reports whether a file never counts as important.
	Ignored(path string) bool
}

// Limits say how much of the model's window is used. (CTX-4)
type Limits struct {
	Window  int     // tokens; 0: what is known of the model, else 128,000
	Compact float64 // the share from which on the conversation is compacted; 0: 0.92, negative: never by itself
	Warn    float64 // the share from which on the person and the model are told; 0: 0.80
	Reserve int     // tokens kept free beside the answer; 0: 4,096, or an eighth of the window
}

// Prompt is what stands before every conversation. (CTX-5)
type Prompt struct {
	System    string     // "": the package's own
	Variables []Variable // in their order; those that change come last
}

// Variable is a fact about the place where the model works: the date, the
// platform, the project's notes.
type Variable struct {
	Name string
	Text string

	// Shows is what the text shows of files. Such a file stays in view, also after a
	// compaction. A change to it is reported as with any file that was read.
	Shows []freshness.Observation
}

func (a *Agent) setUp() error {
	a.once.Do(func() {
		if a.Model == nil || a.Store == nil {
			a.broken = errors.New("an agent needs a model and a store")
			return
		}
		a.model, _ = prices.Lookup(a.Name)
		a.counter = &tokens.Memo{Counter: tokens.EstimateFor(a.Name)}
		of, ok := a.Model.(llm.ThinkingChecker)
		a.checks = ok && of.ChecksThinking() && prices.ChecksThinking(a.Name)
		c := a.Engine
		c.ChecksThinking = a.checks
		if c.Root == "" {
			c.Root = a.Dir
		}
		if c.Window == 0 {
			c.Window = a.window()
		}
		if rule := a.model.Rule(); c.Price == (history.Price{}) && a.model.ID != "" {
			c.Price = history.Price{Read: rule.Read, Write: rule.Write}
		}
		if c.Logger == nil {
			c.Logger = a.Log
		}
		a.engine, a.broken = history.New(c)
	})
	return a.broken
}

func (a *Agent) log() *slog.Logger {
	if a.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Log
}

// specs are the tools that the model is told of.
func (a *Agent) specs() []tool.Spec {
	var all []tool.Spec
	if a.Tools != nil {
		all = a.Tools.Specs()
	}
	if a.Tasks != nil {
		all = append(all[:len(all):len(all)], taskSpec)
	}
	return all
}

// lifetime is how long the provider keeps what it has cached.
func (a *Agent) lifetime() time.Duration {
	if rule := a.model.Rule(); rule.Cached() {
		return rule.Lifetime
	}
	return 5 * time.Minute
}

// With returns an agent like a with other tools, for conversations of its own.
// Its sub-agents have a's.
func (a *Agent) With(tools tool.Caller) *Agent {
	return &Agent{
		Model: a.Model, Name: a.Name, Tools: tools, Store: a.Store, Dir: a.Dir, Files: a.Files,
		Prompt: a.Prompt, Engine: a.Engine, Limits: a.Limits, MaxTokens: a.MaxTokens, MaxTurns: a.MaxTurns,
		Parallel: a.Parallel, Repeats: a.Repeats, Tasks: a.Tasks, Client: a.Client, Log: a.Log,
	}
}
