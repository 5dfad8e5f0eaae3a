package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
)

// command is a prompt that starts with "/" and is answered by the program, not by the agent.
type command struct {
	about string
	hint  string // describes the text that may follow the name; "": no text
	do    func(ctx context.Context, t *turn, rest string) error
}

var commands = map[string]command{
	"compact": {about: "Replace the conversation by a summary of it", hint: "what the summary should keep above all", do: compact},
	"context": {about: "Show what fills the context window", do: showContext},
	"cost":    {about: "Show what this conversation has used and cost", do: showCost},
}

// commandsUpdate returns the update that sends the list of commands to the client.
func commandsUpdate() sdk.SessionUpdate {
	u := &sdk.SessionAvailableCommandsUpdate{AvailableCommands: []sdk.AvailableCommand{}}
	for name, c := range commands {
		listed := sdk.AvailableCommand{Name: name, Description: c.about}
		if c.hint != "" {
			listed.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: c.hint}}
		}
		u.AvailableCommands = append(u.AvailableCommands, listed)
	}
	slices.SortFunc(u.AvailableCommands, func(a, b sdk.AvailableCommand) int { return strings.Compare(a.Name, b.Name) })
	return sdk.SessionUpdate{AvailableCommandsUpdate: u}
}

// commandIn returns the command of a prompt and the text after its name. ok is false if the prompt is not a command.
func commandIn(blocks []sdk.ContentBlock) (name, rest string, ok bool) {
	if len(blocks) != 1 || blocks[0].Text == nil {
		return "", "", false
	}
	line, ok := strings.CutPrefix(strings.TrimSpace(blocks[0].Text.Text), "/")
	if !ok {
		return "", "", false
	}
	name, rest, _ = strings.Cut(line, " ")
	_, ok = commands[name]
	return name, strings.TrimSpace(rest), ok
}

func compact(ctx context.Context, t *turn, focus string) error {
	if t.session.conversation().ID() == "" {
		t.say("There is nothing to summarize yet.")
		return nil
	}
	conv, err := t.session.begin(ctx, t.note)
	if err != nil {
		return err
	}
	if err := conv.Compact(ctx, focus, t.event); err != nil {
		return err
	}
	t.say("The conversation goes on with a summary.")
	return nil
}

func showContext(_ context.Context, t *turn, _ string) error {
	f := t.session.conversation().Fill()
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tokens are in use; the conversation is summarized from %d on.\n", f.Used, f.Window, f.Limit)
	if f.Left > 0 {
		fmt.Fprintf(&b, "\nTrimming keeps %d tokens out.\n", f.Left)
	}
	b.WriteString("\n| what | tokens |\n| --- | ---: |\n")
	if f.Tools > 0 {
		fmt.Fprintf(&b, "| descriptions of tools | %d |\n", f.Tools)
	}
	for _, s := range f.Shares {
		fmt.Fprintf(&b, "| %s: %s | %d |\n", s.Role, kinds[min(int(s.Kind), len(kinds)-1)], s.Tokens)
	}
	t.say(b.String())
	return nil
}

// kinds are the names of the kinds of parts, in the order of llm.Kind.
var kinds = []string{"text", "thinking", "calls", "results", "other"}

func showCost(_ context.Context, t *turn, _ string) error {
	t.say(costs(t.session.conversation().Spent()))
	return nil
}

func costs(s agent.Spent) string {
	u := s.Usage
	text := fmt.Sprintf("%d tokens read (%d of them from the cache, %d written to it), %d written by the model.",
		u.Prompt(), u.CacheRead, u.CacheWrite, u.Output)
	if !s.Known {
		return text + " The model's prices are not known."
	}
	return fmt.Sprintf("%s Cost: $%.4f.", text, s.USD)
}
