package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

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
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
)

// openTools opens the file tools over a directory, behind the handler that decides about calls. It is unattended, so it asks no
// person.
func openTools(dir, state string) (*workspace.Root, *filetools.Tools, *approval.Handler, error) {
	root, err := workspace.Open(dir, workspace.Options{State: state})
	if err != nil {
		return nil, nil, nil, err
	}
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return nil, nil, nil, err
	}
	set := new(tool.Set)
	if err := set.Add(tools.All()...); err != nil {
		return nil, nil, nil, err
	}
	return root, tools, &approval.Handler{Tools: set, Root: dir, Policy: &policy.Policy{Unattended: true}}, nil
}

// tempDirs makes a workspace with one file, and a directory for stet's state.
func tempDirs() (dir, state string, remove func()) {
	base, err := os.MkdirTemp("", "stet-example")
	if err != nil {
		log.Fatal(err)
	}
	dir, state = filepath.Join(base, "project"), filepath.Join(base, "state")
	if err := errorsOf(os.Mkdir(dir, 0o755), os.Mkdir(state, 0o700), os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("hello\n"), 0o644)); err != nil {
		log.Fatal(err)
	}
	return dir, state, func() { _ = os.RemoveAll(base) }
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// The whole agent: a model, the file tools, and a store of conversations.
func Example() {
	dir, state, remove := tempDirs()
	defer remove()
	root, tools, handler, err := openTools(dir, state)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	model := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{ // in place of a real one
		llmtest.Say("I read it.", llmtest.ReadLines("greeting.txt", 1, 1)),
		llmtest.Say("I change it.", llmtest.Edit("greeting.txt", "hello", "good morning")),
		llmtest.Say("The greeting is polite now."),
	}})
	defer model.Close()

	a := &agent.Agent{
		Model: endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: model.URL, Key: "key"}},
		Name:  "scripted", Dir: dir,
		Tools: handler, Files: tools,
		Store: new(session.Memory), // or sqlite.OpenSessions(ctx, file)
	}
	ctx := context.Background()
	c, err := a.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	out, err := c.Run(ctx, []llm.Part{{Text: "Make the greeting polite."}}, func(e agent.Event) {
		if e.Kind == agent.CallEnds {
			fmt.Println(e.Call.Name, e.Call.Args)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text)
	// Output:
	// Read {"limit":1,"path":"greeting.txt","start_line":1}
	// edit_file {"edits":[{"new_text":"good morning","old_text":"hello"}],"path":"greeting.txt"}
	// The greeting is polite now.
}

// The tools alone, for your own agent.
func Example_tools() {
	dir, state, remove := tempDirs()
	defer remove()
	root, _, handler, err := openTools(dir, state)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	for _, args := range []string{`{"path":"greeting.txt"}`, `{"path":"../secret"}`} {
		res, err := handler.Call(context.Background(), tool.Call{ID: "1", Session: "mine", Name: "read_file", Arguments: json.RawMessage(args)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Failed(), res.Code, filetools.Plain(res))
	}
	// Output:
	// false  hello
	//
	// true invalid_path Error: invalid_path: open ../secret: ".." is not allowed; use a path relative to the workspace
}

// The trimming alone: text that the request already shows is not sent again.
func Example_trimming() {
	engine, err := trim.New(trim.Config{})
	if err != nil {
		log.Fatal(err)
	}
	text := strings.Repeat("a line of the file\n", 100)
	read := func(id string) []llm.Message {
		return []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "read_file", Args: `{"path":"a.txt"}`}}},
			{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: text}}},
		}
	}
	conversation := append([]llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "Read it twice."}}}}, append(read("call_1"), read("call_2")...)...)
	sent, plan := engine.Build(conversation)
	fmt.Println(sent[4].Parts[0].Text)
	fmt.Println(plan.Saved > 1000, len(conversation[4].Parts[0].Text) == len(text))
	// Output:
	// [stet: a.txt lines 1-100 unchanged: shown above by call_1 (lines 1-100). Ask again for the full text.]
	// true true
}

// A conversation goes on after its process has ended, and from an earlier point.
func Example_resume() {
	dir, state, remove := tempDirs()
	defer remove()
	root, tools, handler, err := openTools(dir, state)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	model := llmtest.New(llmtest.Script{
		Root: dir, // paths are absolute: the tools take those that lead into the workspace
		Turns: []llmtest.Turn{
			llmtest.Say("", llmtest.Write("note.txt", "one\n")), llmtest.Say("It is written."),
			llmtest.Say("", llmtest.Read("note.txt")), llmtest.Say("It says one."),
		},
	})
	defer model.Close()
	a := &agent.Agent{
		Model: endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: model.URL, Key: "key"}},
		Name:  "scripted", Dir: dir, Tools: handler, Files: tools, Store: new(session.Memory),
	}
	ctx := context.Background()
	c, err := a.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	say := func(c *agent.Conversation, text string) {
		out, err := c.Run(ctx, []llm.Part{{Text: text}}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(out.Text)
	}
	say(c, "Write a note.")

	again, err := a.Resume(ctx, c.ID()) // in another process, with the same Store
	if err != nil {
		log.Fatal(err)
	}
	say(again, "What does it say?")

	// Back to the answer after the note was written. Nothing stored is deleted, and no file is changed.
	if err := again.Rewind(ctx, again.State().Marks[3]); err != nil {
		log.Fatal(err)
	}
	for _, m := range again.State().Messages {
		for _, p := range m.Parts {
			fmt.Println(m.Role, p.Kind)
		}
	}
	// Output:
	// It is written.
	// It says one.
	// user text
	// assistant tool call
	// tool tool result
	// assistant text
}
