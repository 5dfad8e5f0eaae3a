package acp

import (
	"context"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// compactCommand is the prompt that the program answers itself, and not the agent. What follows it says what the summary should keep.
const compactCommand = "/compact"

// commandsUpdate returns the update that sends the list of commands to the client.
func commandsUpdate() sdk.SessionUpdate {
	return sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: []sdk.AvailableCommand{{
		Name: strings.TrimPrefix(compactCommand, "/"), Description: "Replace the conversation by a summary of it",
		Input: &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: "what the summary should keep above all"}},
	}}}}
}

// compactIn reports whether a prompt is the command, and returns what follows it.
func compactIn(blocks []sdk.ContentBlock) (focus string, ok bool) {
	if len(blocks) != 1 || blocks[0].Text == nil {
		return "", false
	}
	name, focus, _ := strings.Cut(strings.TrimSpace(blocks[0].Text.Text), " ")
	return strings.TrimSpace(focus), name == compactCommand
}

// compact replaces the conversation by a summary.
func (t *turn) compact(ctx context.Context, focus string) error {
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
