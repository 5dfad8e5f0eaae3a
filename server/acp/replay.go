package acp

import (
	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	stored "github.com/stet-dev/stet/session"
)

// replayed collects the updates that show a stored conversation to a client.
type replayed struct {
	session *session
	updates []sdk.SessionUpdate
	open    map[string]*shownCall // by the id of the call
}

// replay returns the updates for a conversation, from its first session on. A session may carry over messages from the previous
// session. These are shown once, in the previous session.
func (s *session) replay(chain []stored.State) []sdk.SessionUpdate {
	r := &replayed{session: s, open: map[string]*shownCall{}}
	for i, st := range chain {
		for n, m := range st.Messages {
			if i > 0 && st.Marks[n] <= st.Carried+1 {
				continue
			}
			r.message(m)
		}
	}
	for _, c := range r.open {
		r.add(sdk.UpdateToolCall(c.id, sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
	}
	return r.updates
}

func (r *replayed) add(u sdk.SessionUpdate) { r.updates = append(r.updates, u) }

func (r *replayed) message(m llm.Message) {
	for _, p := range m.Parts {
		switch {
		case m.Local:
			r.add(sdk.UpdateAgentThoughtText(p.Text + "\n"))
		case p.Kind == llm.ToolCall:
			r.begins(p)
		case p.Kind == llm.ToolResult:
			r.ends(p)
		case p.Text == "" || agent.IsReminder(p):
		case p.Kind == llm.Thinking:
			r.add(sdk.UpdateAgentThoughtText(p.Text))
		case p.Kind != llm.Text:
		case m.Role == llm.User:
			r.add(sdk.UpdateUserMessageText(p.Text))
		case m.Role == llm.Assistant:
			r.add(sdk.UpdateAgentMessageText(p.Text))
		}
	}
}

func (r *replayed) begins(call llm.Part) {
	c := &shownCall{id: r.session.callName(call.CallID), args: argumentsOf(call.Args)}
	r.open[call.CallID] = c
	r.add(started(r.session, c.id, call, c.args, sdk.ToolCallStatusPending))
}

func (r *replayed) ends(p llm.Part) {
	c, ok := r.open[p.CallID]
	if !ok {
		return
	}
	delete(r.open, p.CallID)
	status := sdk.ToolCallStatusCompleted
	if p.IsError {
		status = sdk.ToolCallStatusFailed
	}
	r.add(ended(c.id, status, resultContent(r.session, c.args, p.Text, p.IsError), p.Text))
}
