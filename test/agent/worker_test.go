package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

// workerEnv makes the test binary an agent that works in the directory that it names, until it is killed.
const workerEnv = "STET_TEST_WORKER"

// work resumes the conversation in dir, or begins it, and continues it for ever. Each prompt leads to several answers with calls,
// some of them at once.
func work(dir string) error {
	ctx := context.Background()
	store, err := sqlite.OpenSessions(ctx, filepath.Join(dir, "stet.db"))
	if err != nil {
		return err
	}
	a, err := newAgent(dir, telling{store})
	if err != nil {
		return err
	}
	found, err := session.Latest(ctx, store, a.Dir)
	var c *agent.Conversation
	if err != nil {
		c, err = a.New(ctx)
	} else {
		c, err = a.Resume(ctx, found.ID)
	}
	if err == nil && c.ID() != "" {
		_, err = c.Run(ctx, nil, nil) // continues what was interrupted
	}
	for err == nil {
		_, err = c.Run(ctx, []llm.Part{{Text: "Go on with the work."}}, nil)
	}
	return err
}

// newAgent returns an agent that works in the tree of dir.
func newAgent(dir string, store session.Store) (*agent.Agent, error) {
	hands, tools, err := openTools(dir)
	if err != nil {
		return nil, err
	}
	network := new(llmtest.Memory)
	if _, err := strictmodel.Start(llmtest.Config{Handler: next, Listener: network}); err != nil {
		return nil, err
	}
	return &agent.Agent{
		Model: endpoint.Client{API: anthropic.API, Config: endpoint.Config{
			BaseURL: "http://model.test", HTTP: &http.Client{Transport: &http.Transport{DialContext: network.DialContext}},
		}},
		Name: "scripted", Store: store, Dir: filepath.Join(dir, "tree"), Tools: hands, Files: tools,
		Limits: agent.Limits{Window: 6_800}, // small, so that conversations are compacted
	}, nil
}

func openTools(dir string) (tool.Caller, *filetools.Tools, error) {
	root, err := workspace.Open(filepath.Join(dir, "tree"), workspace.Options{State: filepath.Join(dir, "state")})
	if err != nil {
		return nil, nil, err
	}
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return nil, nil, err
	}
	set := new(tool.Set)
	if err := set.Add(tools.All()...); err != nil {
		return nil, nil, err
	}
	ledger, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	h := &approval.Handler{Tools: set, Policy: &policy.Policy{Unattended: true}, Rate: -1}
	return &counted{Handler: h, ledger: ledger}, tools, nil
}

// counted records every call before it is made.
type counted struct {
	*approval.Handler
	mu     sync.Mutex
	ledger *os.File
}

// Start implements tool.Starter.
func (c *counted) Start(call tool.Call) func(context.Context) (tool.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintln(c.ledger, call.ID); err != nil {
		fmt.Fprintln(os.Stderr, err) // without this record the test proves nothing
		os.Exit(1)
	}
	return c.Handler.Start(call)
}

// telling prints the session, number and hash of every acknowledged event on standard output.
type telling struct{ session.Store }

// Append implements session.Store.
func (s telling) Append(ctx context.Context, batches ...session.Batch) error {
	if err := s.Store.Append(ctx, batches...); err != nil {
		return err
	}
	var b strings.Builder
	for _, batch := range batches {
		for i, e := range batch.Events {
			fmt.Fprintf(&b, "%s %d %s\n", batch.Session, batch.After+uint64(i)+1, hashOf(e.Body))
		}
	}
	_, err := os.Stdout.WriteString(b.String())
	return err
}

func hashOf(b session.Body) string {
	data, err := session.Encode(b)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s-%x", session.Event{Body: b}.Kind(), sha256.Sum256(data))
}

// next is the model: it writes two files at once, changes one of them, and is done. Every call has a new id.
func next(req *llm.Request) (llm.Response, error) {
	calls, last := 0, req.Messages[len(req.Messages)-1]
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch {
			case m.Role == llm.User && p.Kind == llm.Text && !agent.IsReminder(p):
				calls = 0
			case p.Kind == llm.ToolCall:
				calls++
			}
		}
	}
	if strings.HasPrefix(last.Parts[len(last.Parts)-1].Text, agent.SummaryAsked) {
		return said("The work goes on: files are written, two at once, and changed.")
	}
	name := strings.ToLower(rand.Text()[:10])
	switch {
	case calls == 0:
		return said("I write.", write(name+"a.txt"), write(name+"b.txt"))
	case calls == 2:
		return said("I add.", call("edit_file", `{"path":"shared.txt","edits":[{"old_text":"end","new_text":"`+name+`\nend"}]}`), call("find_files", `{"pattern":"*.txt"}`))
	}
	return said("Done. " + name)
}

func said(text string, calls ...llm.Part) (llm.Response, error) {
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: append([]llm.Part{{Text: text}}, calls...)}}, nil
}

func write(name string) llm.Part {
	return call("write_file", fmt.Sprintf(`{"path":"%s","content":"the content of %s\n"}`, name, name))
}

func call(name, args string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, CallID: "toolu_" + rand.Text(), Name: name, Args: args}
}
