package agent

import "github.com/stet-dev/stet/tool"

// With returns an agent like a with other tools, for conversations of its own.
// Its sub-agents have a's.
func (a *Agent) With(tools tool.Caller) *Agent {
	return &Agent{
		Model: a.Model, Name: a.Name, Tools: tools, Store: a.Store, Dir: a.Dir, Files: a.Files,
		Prompt: a.Prompt, Engine: a.Engine, Limits: a.Limits, MaxTokens: a.MaxTokens, MaxTurns: a.MaxTurns,
		Parallel: a.Parallel, Repeats: a.Repeats, Tasks: a.Tasks, Client: a.Client, Log: a.Log,
	}
}
