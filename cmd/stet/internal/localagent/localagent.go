// Package localagent builds stet's own agent: the configured model, the file tools of a workspace, the store of conversations, and
// what the agent is given about the project.
package localagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/agent/mcpclient"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens/exact"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
)

// Options say how the agent works.
type Options struct {
	Settings *config.Config
	Model    Model
	Dir      string // the directory that it works in
	Tools    toolset.Options
	Window   int // the model's context window in tokens; 0: the known window of the model
	Getenv   func(string) string
	// Servers says how to start the configured MCP servers; nil: they are not started.
	Servers *mcpclient.Config
	// Say says something to the person.
	Say func(format string, args ...any)
}

// Agent is the agent with everything that it uses.
type Agent struct {
	*toolset.Set
	Agent *agent.Agent
	Store session.Store

	More    int      // tools of MCP servers
	Missing []string // says which servers are not connected, and why

	servers *mcpclient.Group // nil: none
	stop    func()           // ends a scripted model
}

// Open opens the workspace, the store of conversations and the model, and builds an agent. The caller shows Queue to a person, or
// sets Handler.Approver before the first call.
func Open(ctx context.Context, o Options) (_ *Agent, err error) {
	o.Tools.Dedupe = false // the context engine leaves out repeated text
	a := &Agent{}
	model, stop, err := o.Model.Open(o.Getenv)
	if err != nil {
		return nil, err
	}
	a.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.Set, err = toolset.Open(ctx, o.Dir, o.Tools); err != nil {
		return nil, err
	}
	if a.Store, err = store.OpenSessions(ctx, o.Tools.Trail); err != nil {
		return nil, err
	}
	given := Variables(o.Dir)
	if o.Settings.ProjectNotes {
		known, _ := prices.Lookup(o.Model.Name)
		window := cmp.Or(o.Window, known.Window, 128_000)
		last := len(given) - 1 // the date, which changes
		given = slices.Insert(given, last, notes(ctx, a.Set, window, o.Say)...)
	}
	tools, err := a.connect(ctx, o)
	if err != nil {
		return nil, err
	}
	engine := o.Settings.History(o.Dir)
	engine.Logger = a.Log
	limits := agent.Limits{Window: o.Window, Compact: float64(o.Settings.Compact) / 100}
	if o.Settings.Compact == 0 {
		limits.Compact = -1
	}
	a.Agent = &agent.Agent{
		Model: model, Name: o.Model.Name, Tools: tools, Store: a.Store, Dir: o.Dir, Files: a.Files, Engine: engine,
		Prompt: agent.Prompt{Variables: given},
		Limits: limits, Counter: exact.ForModel(o.Model.Name), Log: a.Log,
	}
	return a, nil
}

// Variables returns what an agent is given about its directory.
func Variables(dir string) []agent.Variable {
	return []agent.Variable{
		{Name: "platform", Text: runtime.GOOS + "/" + runtime.GOARCH},
		{Name: "workspace", Text: dir},
		{Name: "date", Text: time.Now().Format(time.DateOnly)},
	}
}

// FindSession returns the session that an argument names: an ID, a prefix of one, or "latest". "latest" is the last used session in
// dir, or in any directory if dir is empty.
func FindSession(ctx context.Context, store session.Store, name, dir string) (session.Info, error) {
	if name == "latest" {
		return session.Latest(ctx, store, dir)
	}
	found, err := session.Find(ctx, store, name)
	if errors.Is(err, session.ErrNotFound) {
		return found, fmt.Errorf("%s: there is no such session; \"stet sessions list\" lists them", workspace.Quote(name))
	}
	return found, err
}

// Resume returns the conversation that an argument names, as in FindSession.
func (a *Agent) Resume(ctx context.Context, name string) (*agent.Conversation, error) {
	info, err := FindSession(ctx, a.Store, name, a.Root.Dir())
	if err != nil {
		return nil, err
	}
	if info.Dir != a.Root.Dir() {
		return nil, fmt.Errorf("session %s works in %s: name it by --root", info.ID, workspace.Quote(info.Dir))
	}
	return a.Agent.Resume(ctx, info.ID)
}

// Close closes everything. No conversation may be running.
func (a *Agent) Close() error {
	var errs []error
	if a.servers != nil {
		a.servers.Close()
	}
	if a.Set != nil {
		errs = append(errs, a.Set.Close())
	}
	if a.Store != nil {
		errs = append(errs, a.Store.Close())
	}
	a.stop()
	return errors.Join(errs...)
}
