package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/workspace"
)

// agentFlags are the flags of stet chat, stet run and stet acp that are no
// settings.
type agentFlags struct {
	root      string
	window    int
	tasks     bool
	unwatched bool // --write-without-asking
}

// leastWindow is the smallest --window, in tokens. In a smaller one hardly
// anything fits beside the descriptions of the tools.
const leastWindow = 4096

// addAgentFlags adds the flags that the commands share which run the agent.
func addAgentFlags(f *pflag.FlagSet, a *agentFlags) {
	f.StringVar(&a.root, "root", ".", "the directory that the agent works in")
	f.IntVar(&a.window, "window", 0, "tokens that the model takes; 0 is what is known of it")
	f.BoolVar(&a.tasks, "tasks", false, "let the model give tasks to agents with windows of their own")
	f.BoolVar(&a.unwatched, "write-without-asking", false, "ask nobody, for tests and throw-away trees; control files are refused")
	config.AddFlags(f, "model", "base-url", "api", "policy", "project-notes", "rate", "log")
	f.Lookup("policy").Usage = "what may be left out of requests: off, keep-latest, lossless, adaptive, bold"
}

// house is the agent with all that it works with.
type house struct {
	*hands
	agent *agent.Agent
	store session.Store
	model modelOptions
	stop  func() // ends a scripted model
}

// openHouse opens the workspace, the store of conversations and the model, and
// puts an agent together. Who decides on writes answers hands.queue, or takes
// the place of hands.handler.Approver before the first call.
func (c *command) openHouse(ctx context.Context, f agentFlags) (_ *house, err error) {
	if f.window < 0 || f.window > 0 && f.window < leastWindow {
		return nil, c.usage(fmt.Errorf("--window %d: the least is %d tokens, and 0 is what is known of the model", f.window, leastWindow))
	}
	root, err := c.workspaceDir(f.root)
	if err != nil {
		return nil, c.usage(err)
	}
	settings, err := c.settings(root)
	if err != nil {
		return nil, err
	}
	o, err := toolOptionsOf(settings)
	if err != nil {
		return nil, err
	}
	o.policy.Unattended = f.unwatched
	o.dedupe = false // what stands in the window is history's to say
	h := &house{stop: func() {}}
	model, err := c.openModel(settings, h)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.hands, err = c.openHands(ctx, root, o); err != nil {
		return nil, err
	}
	if h.store, err = sqlite.OpenSessions(ctx, c.trailFile()); err != nil {
		return nil, err
	}
	told := variables(root)
	if settings.ProjectNotes {
		known, _ := prices.Lookup(h.model.name)
		window := cmp.Or(f.window, known.Window, 128_000)
		last := len(told) - 1 // the date, which changes
		told = slices.Insert(told, last, c.notes(ctx, h.root, o.policy.Hides, window)...)
	}
	engine := settings.History(root)
	engine.Logger = h.log
	agentWith := func(tasks *agent.Agent) *agent.Agent {
		return &agent.Agent{
			Model: model, Name: h.model.name, Tools: h.handler, Store: h.store, Dir: root, Files: h.tools, Engine: engine,
			Prompt: agent.Prompt{Variables: told},
			Limits: agent.Limits{Window: f.window}, Tasks: tasks, Log: h.log,
		}
	}
	h.agent = agentWith(nil)
	if f.tasks {
		h.agent = agentWith(h.agent)
	}
	return h, nil
}

// variables are what the agent is told of where it works.
func variables(root string) []agent.Variable {
	return []agent.Variable{
		{Name: "platform", Text: runtime.GOOS + "/" + runtime.GOARCH},
		{Name: "workspace", Text: root},
		{Name: "date", Text: time.Now().Format(time.DateOnly)},
	}
}

// resume returns the conversation that an argument names: an ID, the beginning
// of one, or "latest", which is the one used last in the workspace.
func (h *house) resume(ctx context.Context, name string) (*agent.Conversation, error) {
	var info session.Info
	var err error
	if name == "latest" {
		info, err = session.Latest(ctx, h.store, h.root.Dir())
	} else {
		info, err = findSession(ctx, h.store, name)
	}
	if err != nil {
		return nil, err
	}
	if info.Dir != h.root.Dir() {
		return nil, fmt.Errorf("session %s works in %s: name it by --root", info.ID, workspace.Quote(info.Dir))
	}
	return h.agent.Resume(ctx, info.ID)
}

// close lets go of everything. No conversation is at work any more.
func (h *house) close() error {
	var errs []error
	if h.hands != nil {
		errs = append(errs, h.hands.close())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	h.stop()
	return errors.Join(errs...)
}

// said is what a person typed, as the agent takes it.
func said(text string) []llm.Part { return []llm.Part{{Kind: llm.Text, Text: text}} }
