// Package demo has what stet shows of itself without a key: a small session between a
// scripted agent and a scripted model ("stet demo"), two agents at work in a browser
// ("stet serve --demo"), and the scripted model of stet's own agent. The models and
// what they ask for are scripted; requests, proxy, tools and files are real.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/proxy"
)

// Session is the session of stet demo: an agent works on copies of two files.
type Session struct {
	Dir      string // of the copies
	ModelURL string

	from  string // where the files are from
	root  *os.Root
	model *llmtest.Server
	agent *Agent
	words string // the model's last
}

// OpenSession copies two files of dir, or of a sample, and starts the model. The
// session is to be closed, also after an error.
func OpenSession(dir string) (s *Session, err error) {
	files, from := chooseFiles(dir)
	s = &Session{from: from}
	if s.Dir, err = copyFiles(files); err != nil {
		return s, fmt.Errorf("copy the files: %w", err)
	}
	if s.root, err = os.OpenRoot(s.Dir); err != nil {
		return s, err
	}
	if s.model, err = llmtest.Start(llmtest.Config{Script: Script(files)}); err != nil {
		return s, err
	}
	s.ModelURL = s.model.URL
	return s, nil
}

// Run has the session. base is the URL that the agent takes for the model's.
func (s *Session) Run(ctx context.Context, base string) (err error) {
	s.agent = NewAgent(base, s.root)
	s.words, err = s.agent.Run(ctx)
	s.agent.http.CloseIdleConnections()
	return err
}

// Report compares what the agent sent with what the model received. totals are
// those of the proxy between them.
func (s *Session) Report(policy string, totals proxy.Totals) (*Report, error) {
	r := &Report{from: s.from, base: s.agent.base, policy: policy, words: s.words, totals: totals}
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

// Script is what the model says in the demo's session.
func Script(files []File) llmtest.Script {
	a, b := files[0], files[1]
	from, to := 10, 35
	line := uniqueLine(a.Text)
	return llmtest.Script{
		Turns: []llmtest.Turn{
			llmtest.Say("I read the first file.", llmtest.Read(a.Name)),
			llmtest.Say("And the second.", llmtest.Read(b.Name)),
			llmtest.Say("What did the first one say?", llmtest.Read(a.Name)),
			llmtest.Say("I insist: I want to see it again.", llmtest.Read(a.Name)),
			llmtest.Say("Some lines of it.", llmtest.ReadLines(a.Name, from, to)),
			llmtest.Say("I mark the line that matters.", llmtest.Edit(a.Name, line, line+" <- this one")),
			llmtest.Say("I check the file after the edit.", llmtest.Read(a.Name)),
			llmtest.Say("And the second one, which nobody has touched.", llmtest.Read(b.Name)),
		},
		End: "The line is marked.",
	}
}
