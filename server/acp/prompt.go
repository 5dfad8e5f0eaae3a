package acp

import (
	"context"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// A prompt is one turn: its blocks become the parts of a message, or it is a command.

// prompt answers session/prompt. It is one turn.
func (c *connection) prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	var none sdk.PromptResponse
	s, err := c.opened(p.SessionId)
	if err != nil {
		return none, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	if c.isEnding() {
		s.cancelTurn()
	}
	t := &turn{conn: c, session: s, calls: map[string]*shownCall{}}
	for _, note := range s.takeNotes() {
		t.note(note)
	}
	used, stop, err := c.work(ctx, t, p.Prompt)
	t.over()
	switch {
	case err != nil && ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled, Usage: usageOf(used)}, nil
	case err != nil:
		return none, err
	}
	return sdk.PromptResponse{StopReason: stop, Usage: usageOf(used)}, nil
}

// work executes a command, or lets the agent answer the prompt.
func (c *connection) work(ctx context.Context, t *turn, blocks []sdk.ContentBlock) (llm.Usage, sdk.StopReason, error) {
	if err := ctx.Err(); err != nil {
		return llm.Usage{}, "", err
	}
	ctx = context.WithValue(ctx, turnKey{}, t)
	if focus, ok := compactIn(blocks); ok {
		return llm.Usage{}, sdk.StopReasonEndTurn, t.compact(ctx, focus)
	}
	said, err := c.parts(t.session, blocks)
	if err != nil {
		return llm.Usage{}, "", err
	}
	conv, err := t.session.begin(ctx, t.note)
	if err != nil {
		return llm.Usage{}, "", err
	}
	out, err := conv.Run(ctx, said, t.event)
	return out.Usage, stopReason(t, out), err
}

// takeNotes returns the notes for the person, and removes them.
func (s *session) takeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

// stopReason returns the reason of the end of a turn in the protocol's words. It shows the person a reason that the protocol has
// no word for.
func stopReason(t *turn, out agent.Outcome) sdk.StopReason {
	switch out.End {
	case agent.Refused:
		return sdk.StopReasonRefusal
	case agent.Turns:
		return sdk.StopReasonMaxTurnRequests
	case agent.CutOff:
		return sdk.StopReasonMaxTokens
	case agent.Looping:
		t.note("Stopped: the same calls came to the same results again and again.")
	}
	return sdk.StopReasonEndTurn
}

// usageOf returns nil if no tokens were used.
func usageOf(u llm.Usage) *sdk.Usage {
	if u.IsZero() {
		return nil
	}
	return &sdk.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, TotalTokens: u.Total(),
		CachedReadTokens: &u.CacheRead, CachedWriteTokens: &u.CacheWrite, ThoughtTokens: &u.Reasoning,
	}
}

// parts converts the blocks of a prompt to the parts of a message.
func (c *connection) parts(s *session, blocks []sdk.ContentBlock) ([]llm.Part, error) {
	var out []llm.Part
	text := func(words string) {
		if strings.TrimSpace(words) != "" {
			out = append(out, llm.Part{Kind: llm.Text, Text: words})
		}
	}
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text(b.Text.Text)
		case b.ResourceLink != nil:
			text(linkTo(s, b.ResourceLink.Name, b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			text(embedded(s, r.Uri, r.Text))
		case b.Resource != nil && b.Resource.Resource.BlobResourceContents != nil:
			r := b.Resource.Resource.BlobResourceContents
			text("[" + named(s, r.Uri) + " is attached, but is no text: it is left out.]")
		case b.Image != nil:
			p, err := c.image(b.Image)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		default:
			return nil, wrong("the prompt has content of a kind that was not offered")
		}
	}
	if len(out) == 0 {
		return nil, wrong("the prompt is empty")
	}
	return out, nil
}

func (c *connection) image(b *sdk.ContentBlockImage) (llm.Part, error) {
	if c.config.Image != nil {
		if p, ok := c.config.Image(b.MimeType, b.Data); ok {
			return p, nil
		}
	}
	return llm.Part{}, wrong("the model does not take this image (%s)", plain(b.MimeType))
}

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

// named returns the model's name for a resource: its path if it is a file in the workspace, or else its URI. It keeps the
// fragment, because editors put line numbers there.
func named(s *session, uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return uri
	}
	name := s.relative(filepath.FromSlash(u.Path))
	if u.Fragment != "" {
		name += "#" + u.Fragment
	}
	return name
}

// linkTo returns a link to a resource, for the model.
func linkTo(s *session, name, uri string) string {
	at := named(s, uri)
	if name == "" || name == at || name == path.Base(at) {
		return "[" + at + "]"
	}
	return "[" + name + "](" + at + ")"
}

// embedded returns a resource with its text, for the model. An end tag in the text is escaped.
func embedded(s *session, uri, text string) string {
	text = strings.ReplaceAll(text, "</resource>", `<\/resource>`)
	return "<resource name=\"" + strings.ReplaceAll(named(s, uri), `"`, "%22") + "\">\n" + strings.TrimSuffix(text, "\n") + "\n</resource>"
}

// relative returns a path in the form that the tools use. It is relative if it is in the workspace, by the directory's real name
// or by the name that the client uses.
func (s *session) relative(name string) string {
	for _, dir := range []string{s.dir, s.space.Agent.Dir} {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name
}

// absolute converts a path of the tools to the form that the client uses.
func (s *session) absolute(name string) string {
	if name = s.relative(filepath.FromSlash(name)); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.dir, filepath.FromSlash(name))
}
