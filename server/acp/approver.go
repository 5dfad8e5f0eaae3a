package acp

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tool"
)

// Who decides about a change: the editor's user, by the mode of the session or by an answer, or else the next approver.

// Approver puts questions to the editor's user. A question goes to Next if an answer in the editor is not enough for it
// (Question.Relay), or if the user does not decide it. The editor then shows where the question can be answered. One Approver serves
// all connections of the process.
type Approver struct {
	Next approval.Approver // nil: no other person can be asked
}

var errUndecided = errors.New("the client's answer is no decision")

// Ask implements approval.Approver.
func (a Approver) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	t, why := turnIn(ctx), "An answer in the editor does not suffice here"
	if len(q.Warnings) == 0 { // else the note says why
		why += " (" + q.Why + ")"
	}
	if t != nil && q.Relay {
		if q.Grantable && !q.Outside() && t.session.currentMode() == modeAccept {
			return approval.Answer{Verdict: approval.Approve, Seal: q.Seal, Relayed: true, By: t.conn.name() + " (accept edits)"}, nil
		}
		answer, err := t.ask(ctx, q)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		t.conn.config.log().Debug("question not answered by the editor", "call", q.CallID, "err", err)
		why = "The editor gave no answer (" + err.Error() + ")"
	}
	if a.Next == nil {
		return approval.Answer{}, approval.ErrNoPerson
	}
	if t != nil {
		t.showWhereToAnswer(q, why)
	}
	return a.Next.Ask(ctx, q)
}

// The options of a question. The protocol has no text with a rejection: the person writes it in the next prompt.
const (
	optionOnce    sdk.PermissionOptionId = "allow-once"
	optionSession sdk.PermissionOptionId = "allow-session"
	optionReject  sdk.PermissionOptionId = "reject"
)

// ask lets the client ask its user. An error means that there is no decision.
func (t *turn) ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	if err := ctx.Err(); err != nil {
		return approval.Answer{}, err
	}
	if q.Diff.Empty() || q.Partial() {
		return approval.Answer{}, errors.New("the change cannot be shown whole")
	}
	content := t.shown(q)
	p := sdk.RequestPermissionRequest{
		SessionId: sdk.SessionId(t.session.id), ToolCall: t.asked(q, content),
		Options: []sdk.PermissionOption{{OptionId: optionOnce, Name: "Allow", Kind: sdk.PermissionOptionKindAllowOnce}},
	}
	if q.Grantable {
		name := "Allow all ordinary changes in this session"
		if q.Outside() {
			name = "Allow this tool in this session"
		}
		p.Options = append(p.Options, sdk.PermissionOption{OptionId: optionSession, Name: name, Kind: sdk.PermissionOptionKindAllowAlways})
	}
	p.Options = append(p.Options, sdk.PermissionOption{OptionId: optionReject, Name: "Reject", Kind: sdk.PermissionOptionKindRejectOnce})
	r, err := sdk.SendRequest[sdk.RequestPermissionResponse](t.conn.sdk, ctx, sdk.ClientMethodSessionRequestPermission, p)
	if ctx.Err() != nil {
		return approval.Answer{}, ctx.Err()
	}
	if err != nil {
		return approval.Answer{}, err
	}
	a := approval.Answer{Relayed: true, By: t.conn.name()}
	switch o := r.Outcome; {
	case o.Cancelled != nil:
		a.Verdict = approval.Cancel
	case o.Selected == nil:
		return approval.Answer{}, errUndecided
	case o.Selected.OptionId == optionOnce:
		a.Verdict, a.Seal = approval.Approve, q.Seal
	case o.Selected.OptionId == optionSession && q.Grantable:
		a.Verdict, a.Seal = approval.ForSession, q.Seal
	case o.Selected.OptionId == optionReject:
		a.Verdict = approval.Reject
	default:
		return approval.Answer{}, errUndecided
	}
	return a, nil
}

// shown returns the content that shows a change to the person, with its warnings.
func (t *turn) shown(q approval.Question) []sdk.ToolCallContent {
	var content []sdk.ToolCallContent
	switch {
	case q.Diff.Empty():
	case q.Outside():
		content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced("json", q.Diff.Text())))}
	case len(q.Files) > 0:
		content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced("diff", q.Diff.Text())))}
	default:
		content = diffContent(t.session.absolute(q.Path), q.Diff)
	}
	if len(q.Warnings) > 0 {
		content = append(content, sdk.ToolContent(sdk.TextBlock("Note: "+strings.Join(q.Warnings, "; ")+".")))
	}
	for _, n := range q.Notes {
		if n == tool.Hidden {
			content = append(content, sdk.ToolContent(sdk.TextBlock(fenced("diff", invisible.Coded(q.Diff.Text(), "\t\n")))))
		}
	}
	return content
}

// asked records what the person is shown about a call, and returns the call as part of the question.
func (t *turn) asked(q approval.Question, content []sdk.ToolCallContent) sdk.ToolCallUpdate {
	c := t.callOf(q)
	t.mu.Lock()
	c.asked, c.outside = content, q.Outside()
	t.mu.Unlock()
	kind, status := displayOf(q.Tool).kind, sdk.ToolCallStatusPending
	name := title(llm.Part{Name: q.Tool}, arguments{Path: q.Path})
	u := sdk.ToolCallUpdate{ToolCallId: c.id, Title: &name, Kind: &kind, Status: &status, Content: content}
	if !q.Outside() {
		u.Locations = []sdk.ToolCallLocation{{Path: t.session.absolute(q.Path)}}
	}
	return u
}

// callOf returns the call that a question is about.
func (t *turn) callOf(q approval.Question) *shownCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.calls[q.CallID]
	if !ok {
		c = &shownCall{id: t.session.callName(q.CallID), args: arguments{Path: q.Path}}
		t.calls[q.CallID] = c
	}
	return c
}

// showWhereToAnswer shows the person where a question can be answered, and why not in the editor.
func (t *turn) showWhereToAnswer(q approval.Question, why string) {
	content := append(t.shown(q), sdk.ToolContent(sdk.TextBlock(why+". Run `stet approve` in a terminal and answer there.")))
	u := t.asked(q, content)
	t.conn.update(t.session, sdk.UpdateToolCall(u.ToolCallId, sdk.WithUpdateStatus(sdk.ToolCallStatusPending),
		sdk.WithUpdateContent(content), sdk.WithUpdateLocations(u.Locations)))
}

// The modes of a session. A mode never allows more than policy does: a change that cannot be granted for a session (control
// files, executables) is asked about in every mode.
const (
	modeAsk    sdk.SessionModeId = "ask"
	modeAccept sdk.SessionModeId = "accept-edits"
	modeRead   sdk.SessionModeId = "read-only"
)

// modes returns the modes of a session.
func (c *connection) modes(s *session) *sdk.SessionModeState {
	mode := func(id sdk.SessionModeId, name, about string) sdk.SessionMode {
		return sdk.SessionMode{Id: id, Name: name, Description: &about}
	}
	all := []sdk.SessionMode{mode(modeAsk, "Ask", "Every change is shown before it is made, but for what your rules allow")}
	if c.config.Relays {
		all = append(all, mode(modeAccept, "Accept edits", "Changes to ordinary files are made without asking; files that make something run are asked about"))
	}
	all = append(all, mode(modeRead, "Read only", "Nothing is changed, whatever your rules allow"))
	return &sdk.SessionModeState{AvailableModes: all, CurrentModeId: s.currentMode()}
}

func (s *session) currentMode() sdk.SessionModeId {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

func (c *connection) setMode(_ context.Context, p sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := c.opened(p.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	for _, m := range c.modes(s).AvailableModes {
		if m.Id == p.ModeId {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.mode = m.Id
			return sdk.SetSessionModeResponse{}, nil
		}
	}
	return sdk.SetSessionModeResponse{}, wrong("there is no mode %q", p.ModeId)
}
