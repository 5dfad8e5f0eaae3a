package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

// overMCP are the agents that get stet's file tools over MCP. named is the form in which each agent names a server's tool to its
// model.
var overMCP = []struct {
	agent
	named string
}{
	{opencode("chat", "local", "scripted"), "stet_%s"},
	{qwen("chat", "openai"), "mcp__stet__%s"},
}

// words is the person's answer to a write that they reject.
const words = "Keep the notes out of the root: docs/NOTES.md is the place."

// The calls of the session, in their order.
var toolCalls = []struct{ tool, args string }{
	{"read_file", `{"path":"` + bedsFile + `"}`},
	{"Read", `{"path":"README.md"}`},
	{"edit_file", `{"path":"` + bedsFile + `","edits":[{"old_text":"` + oldLevel + `","new_text":"` + newLevel + `"}]}`},
	{"write_file", `{"path":"NOTES.md","content":"# Notes\n"}`},
}

// TestFileToolsOverMCP runs a real agent that was configured only with "stet setup --write". The agent reads, edits and writes
// through "stet mcp", and a person decides with "stet approve" in another process. One change is approved, and is on the disk
// only after that. One change is rejected, and the person's words reach the model. The trail verifies, and "stet undo" restores
// the file. (FILE-4, FILE-6, FILE-11, FILE-12)
func TestFileToolsOverMCP(t *testing.T) {
	need(t)
	for _, a := range overMCP {
		t.Run(a.name+"/"+a.wire, func(t *testing.T) {
			t.Parallel()
			home, repo := places(t, a.agent)
			model, err := strictmodel.Start(llmtest.Config{Handler: callsTools(a.named)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = model.Close() })
			env := append(environment(home), a.configure(t, home, model.URL)...)
			stet := func(args ...string) string {
				exit, said := run(t, repo, env, append([]string{os.Getenv(envStet)}, args...))
				if exit != 0 {
					t.Fatalf("stet %s: code %d: %s", strings.Join(args, " "), exit, said)
				}
				return said
			}
			stet("setup", a.name, "--write")
			before := read(t, repo, bedsFile)

			p := startPerson(t, repo, env)
			exit, said := run(t, repo, env, a.command(home, prompts[0], false))
			p.leave(t)
			if exit != 0 {
				t.Fatalf("%s ended with code %d:\n%s", a.name, exit, said)
			}
			if !strings.Contains(p.first, "-"+oldLevel) || !strings.Contains(p.first, "+"+newLevel) || !strings.Contains(p.second, "# Notes") {
				t.Errorf("the person saw:\n%s\n%s", p.first, p.second)
			}
			if p.early != before {
				t.Error("the file was changed before the person had agreed")
			}
			after := strings.Replace(before, oldLevel, newLevel, 1)
			if got := read(t, repo, bedsFile); got != after {
				t.Errorf("the file holds:\n%s", got)
			}
			if _, err := os.Lstat(filepath.Join(repo, "NOTES.md")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the rejected file: %v", err)
			}
			checkAnswers(t, model.Requests())

			if trail := stet("audit"); !strings.Contains(trail, "edit_file") || !strings.Contains(trail, "write_file") {
				t.Errorf("the trail: %s", trail)
			}
			if said := stet("audit", "--verify"); !strings.Contains(said, "hold together") {
				t.Error(said)
			}
			fields := strings.Fields(stet("undo"))
			if len(fields) < 2 {
				t.Fatalf("nothing to undo: %q", fields)
			}
			stet("undo", "--yes", strings.TrimSuffix(fields[1], ","))
			if got := read(t, repo, bedsFile); got != before {
				t.Errorf("after the undo the file holds:\n%s", got)
			}
			if said := stet("audit", "--verify"); !strings.Contains(said, "hold together") {
				t.Error(said)
			}
		})
	}
}

// search is the tool of agents that first tell their model only the names of a server's tools, and then offer the tools that the
// model asked for.
const search = "tool_search"

// callsTools is a model that makes toolCalls, each after the result of the one before. If a call waits for a person, the model
// awaits it.
func callsTools(named string) func(*llm.Request) (llm.Response, error) {
	call := func(name, args string) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, Name: name, Args: args}}}}, nil
	}
	say := func(text string) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}}, nil
	}
	wanted := []string{fmt.Sprintf(named, "await_result")}
	for _, c := range toolCalls {
		wanted = append(wanted, fmt.Sprintf(named, c.tool))
	}
	return func(req *llm.Request) (llm.Response, error) {
		switch {
		case offers(req, wanted...):
		case offers(req, search):
			return call(search, `{"query":"select:`+strings.Join(wanted, ",")+`"}`)
		default: // another kind of request, such as one for a title
			return say("A scripted session")
		}
		done := answers(req)
		for i, c := range toolCalls {
			if i == len(done) {
				return call(fmt.Sprintf(named, c.tool), c.args)
			}
			if id := pending(done[i]); id != "" {
				return call(wanted[0], `{"pending":"`+id+`"}`)
			}
		}
		return say("All is done.")
	}
}

// offers reports whether req offers all these tools.
func offers(req *llm.Request, names ...string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(req.Tools, func(s tool.Spec) bool { return s.Name == name }) {
			return false
		}
	}
	return true
}

// answers returns the results of toolCalls so far, in the form in which the model gets them. If a call was awaited, the later
// result takes the place of the first one.
func answers(req *llm.Request) []string {
	var all []string
	name := map[string]string{} // the name of the tool, by call
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind == llm.ToolCall {
				name[p.CallID] = p.Name
			}
			if p.Kind != llm.ToolResult || name[p.CallID] == search {
				continue
			}
			if n := len(all); n > 0 && pending(all[n-1]) != "" {
				all = all[:n-1]
			}
			all = append(all, p.Text)
		}
	}
	return all
}

// pending returns the id of a call that waits, or "" if the call has ended.
func pending(answer string) string {
	var r struct{ Pending string }
	_ = json.Unmarshal([]byte(answer), &r) // a text that is not an object is not pending
	return r.Pending
}

// checkAnswers checks the results that the model got.
func checkAnswers(t *testing.T, requests []llmtest.Request) {
	t.Helper()
	var told []string
	for _, r := range requests {
		if r.Decoded != nil {
			if a := answers(r.Decoded); len(a) > len(told) || len(a) == len(toolCalls) {
				told = a
			}
		}
	}
	if len(told) != len(toolCalls) {
		t.Fatalf("%d calls were answered: %q", len(told), told)
	}
	for i, want := range []string{marker, "A plan of the beds.", `"success":true`, words} {
		if !strings.Contains(told[i], want) {
			t.Errorf("%s: the model was told %.300q, without %q", toolCalls[i].tool, told[i], want)
		}
	}
}

// person is a person at "stet approve" who approves the first change and rejects the second.
type person struct {
	cmd           *exec.Cmd
	first, second string // the text of each question
	early         string // the content of the file when the first question was shown
	done          chan error
}

// startPerson starts "stet approve" in repo.
func startPerson(t *testing.T, repo string, env []string) *person {
	t.Helper()
	p := &person{cmd: exec.Command(os.Getenv(envStet), "approve", "--root", repo), done: make(chan error, 1)}
	p.cmd.Dir, p.cmd.Env = repo, env
	keys, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const ask = "[q]uit >"
	go func() {
		shown := bufio.NewReader(screen)
		var err error
		// Input that comes before the question is ignored.
		step := func(mark, keyed string) (text string) {
			if err == nil {
				text, err = until(shown, mark)
			}
			if err == nil && mark == ask && p.early == "" {
				b, _ := os.ReadFile(filepath.Join(repo, bedsFile)) // the test compares it
				p.early = string(b)
			}
			if err == nil {
				_, err = keys.Write([]byte(keyed + "\n"))
			}
			return text
		}
		p.first = step(ask, "a")
		p.second = step(ask, "r")
		step("a message for the agent?", words)
		if err == nil {
			_, err = keys.Write([]byte("q\n"))
		}
		if err == nil {
			_, err = shown.WriteTo(&bytes.Buffer{})
		}
		p.done <- errors.Join(err, keys.Close())
	}()
	return p
}

// leave waits for the end of "stet approve".
func (p *person) leave(t *testing.T) {
	t.Helper()
	stuck := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer stuck.Stop()
	if err := errors.Join(<-p.done, p.cmd.Wait()); err != nil {
		t.Errorf("stet approve: %v\n%s\n%s", err, p.first, p.second)
	}
}

// until reads up to a mark, and returns the text with the mark.
func until(r *bufio.Reader, mark string) (string, error) {
	var b []byte
	for !bytes.HasSuffix(b, []byte(mark)) {
		c, err := r.ReadByte()
		if err != nil {
			return string(b), fmt.Errorf("waiting for %q: %w", mark, err)
		}
		b = append(b, c)
	}
	return string(b), nil
}

func read(t *testing.T, repo, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repo, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
