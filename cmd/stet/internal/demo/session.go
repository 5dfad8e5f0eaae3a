// Package demo has demonstrations that need no key: a small session between a scripted agent and a scripted model ("stet demo"),
// a working agent and a question in a browser ("stet serve --demo"), and the scripted model of stet's own agent. The models and their calls are
// scripted; requests, proxy, tools and files are real.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/server/proxy"
)

// Session is the session of stet demo: an agent works on a small project.
type Session struct {
	Dir      string // of the project
	ModelURL string

	root  *os.Root
	model *llmtest.Server
	agent *Agent
	words string // the model's last text
}

// OpenSession writes the project into a temporary directory, and starts the model. The session must be closed, also after an error.
func OpenSession() (s *Session, err error) {
	s = &Session{}
	if s.Dir, err = os.MkdirTemp("", "stet-demo-"); err != nil {
		return s, err
	}
	if err := writeSample(s.Dir); err != nil {
		return s, fmt.Errorf("write the project: %w", err)
	}
	if s.root, err = os.OpenRoot(s.Dir); err != nil {
		return s, err
	}
	if s.model, err = llmtest.Start(llmtest.Config{Script: script()}); err != nil {
		return s, err
	}
	s.ModelURL = s.model.URL
	return s, nil
}

// Run runs the session. base is the model's URL for the agent.
func (s *Session) Run(ctx context.Context, base string) (err error) {
	s.agent = NewAgent(base, s.root)
	s.agent.request.AddTool("bash", "Run a command.", []byte(
		`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`))
	s.agent.request.Messages[1].Parts[0].Text = "A test of the garden fails. Mend it."
	s.words, err = s.agent.Run(ctx)
	s.agent.http.CloseIdleConnections()
	return err
}

// Report compares what the agent sent with what the model received. totals come from the proxy between them.
func (s *Session) Report(policy string, totals proxy.Totals) (*Report, error) {
	r := &Report{base: s.agent.base, policy: policy, words: s.words, totals: totals}
	return r, r.compare(s.agent.turns, s.model.Requests())
}

// Close ends the model, and removes the copies.
func (s *Session) Close() error {
	var errs []error
	if s.model != nil {
		errs = append(errs, s.model.Close())
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	if s.Dir != "" {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}

// script returns the model's answers. They are like those of a short session: commands, reads, an edit, and repeated reads.
func script() llmtest.Script {
	run := func(command string) llmtest.Action { return llmtest.Call("bash", `{"command":"`+command+`"}`) }
	const limit = "    return [bed.plant for bed in BEDS if bed.water(rain) > limit]"
	return llmtest.Script{
		Turns: []llmtest.Turn{
			llmtest.Say("I look around.", run("ls -R"), run("git log --oneline -40")),
			llmtest.Say("What do the tests say?", run("python -m pytest")),
			llmtest.Say("The test is about beds.", llmtest.Read("garden/beds.py")),
			llmtest.Say("Who calls it?", llmtest.Read("garden/season.py")),
			llmtest.Say("These lines matter.", llmtest.ReadLines("garden/beds.py", 55, 70)),
			llmtest.Say("The limit itself counts.", llmtest.Edit("garden/beds.py", limit, strings.Replace(limit, ">", ">=", 1))),
			llmtest.Say("The tests again.", run("python -m pytest tests")),
			llmtest.Say("The types, and the format.", run("python -m mypy --verbose"), run("python -m black --check .")),
			llmtest.Say("What has changed, and how much is it?", run("git status"), run("wc -l *.py tests/*.py")),
			llmtest.Say("I check the file.", llmtest.Read("garden/beds.py")),
			llmtest.Say("And the calendar once more.", llmtest.Read("garden/season.py")),
			llmtest.Say("A last run of the tests.", run("python -m pytest tests")),
		},
		End: "The limit itself counts now, and the tests pass.",
	}
}
