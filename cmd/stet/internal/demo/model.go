package demo

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
)

// ModelName is the name of the model that needs no key.
const ModelName = "scripted"

// NotesFile is the file that the scripted model works on.
const NotesFile = "stet-demo.txt"

// StartModel starts the scripted model of stet's own agent. It speaks the Chat Completions format
// over a network inside this process: nothing listens, and no key is needed.
func StartModel() (llm.Model, func(), error) {
	network := new(llmtest.Memory)
	server, err := llmtest.Start(llmtest.Config{Handler: play, Listener: network})
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{DialContext: network.DialContext}
	model := endpoint.Client{API: openai.ChatAPI, Config: endpoint.Config{
		BaseURL: "http://scripted.model", Model: ModelName, HTTP: &http.Client{Transport: transport},
	}}
	return model, func() {
		transport.CloseIdleConnections()
		_ = server.Close() // there is no state to lose
	}, nil
}

// versionLine is the version line as a summary quotes it.
var versionLine = regexp.MustCompile(`This line is version ([0-9]{1,6})\.`)

// play is the scripted model: for each prompt it lists the workspace, makes or reads its file, changes a line in it, and reports
// this. Its answer depends only on the request.
func play(req *llm.Request) (llm.Response, error) {
	prompts, calls := 0, 0
	wrote := false
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch {
			case m.Role == llm.User && p.Kind == llm.Text && !agent.IsReminder(p):
				prompts++
				calls = 0
				if said := versionLine.FindStringSubmatch(p.Text); said != nil && agent.IsSummary(p) {
					prompts, _ = strconv.Atoi(said[1]) // only digits match
					wrote = true
				}
			case p.Kind == llm.ToolCall:
				calls++
				wrote = wrote || p.Name == "write_file"
			}
		}
	}
	say := func(text string, call ...llm.Part) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: append([]llm.Part{{Text: text}}, call...)}}, nil
	}
	call := func(name, args string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprintf("call_p%d_%d", prompts, calls), Name: name, Args: args}
	}
	if len(req.Tools) == 0 {
		return say("I have no tools here.")
	}
	if last := req.Messages[len(req.Messages)-1]; last.Role == llm.User && strings.Contains(last.Parts[len(last.Parts)-1].Text, agent.SummaryAsked) {
		return say("The person is trying the scripted model. It lists the workspace, and works on " + NotesFile + ", a file of its own, in which the second line is changed at every prompt: " + fmt.Sprintf("This line is version %d.", prompts-1) + " Nothing is left to do.")
	}
	path := fmt.Sprintf(`{"path":%q}`, NotesFile)
	from, to := fmt.Sprintf("This line is version %d.", max(prompts-1, 1)), fmt.Sprintf("This line is version %d.", prompts)
	if prompts == 1 {
		from, to = "This line is new.", "This line is version 1."
	}
	switch {
	case calls == 0:
		return say("I look at what is here.", call("list_files", `{"path":"."}`))
	case calls == 1 && !wrote:
		content := `A file of the scripted model.\nThis line is new.\n`
		return say("I make a file of my own.", call("write_file", fmt.Sprintf(`{"path":%q,"content":"%s"}`, NotesFile, content)))
	case calls == 1:
		return say("I read my file again.", call("read_file", path))
	case calls == 2:
		return say("I change its second line.", call("edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"old_text":%q,"new_text":%q}]}`, NotesFile, from, to)))
	}
	return say(fmt.Sprintf("Done: %s has two lines, and the second one is version %d. I am a script, and say the same whatever you ask; `stet undo` takes it back.", NotesFile, prompts))
}
