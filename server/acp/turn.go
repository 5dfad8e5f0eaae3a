package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// turn is the work for one prompt.
type turn struct {
	conn    *connection
	session *session

	mu     sync.Mutex
	calls  map[string]*shownCall // calls that have not ended, by the id that the model gave
	window int                   // tokens; 0: unknown
}

// turnKey is the context key of the turn.
type turnKey struct{}

// turnIn returns the turn in which a tool is called, or nil.
func turnIn(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// shownCall is a call that was shown to the client.
type shownCall struct {
	id    sdk.ToolCallId
	args  arguments
	asked []sdk.ToolCallContent // what a person was shown in the question; nil: no person was asked

	outside bool // a call of an MCP server: asked shows its arguments, and not its result
}

// event sends an event of the agent to the client. Only one goroutine calls it at a time.
func (t *turn) event(e agent.Event) {
	switch e.Kind {
	case agent.Asking:
		t.window = e.Fill.Window
	case agent.Piece:
		t.piece(e)
	case agent.Answered:
		t.usage(e.Usage)
	case agent.CallBegins:
		t.begins(e.Call, sdk.ToolCallStatusInProgress)
	case agent.CallEnds:
		t.ends(e)
	case agent.Changed:
		t.note("The agent was told of files that changed: " + plain(strings.Join(e.Paths, ", ")) + ".")
	case agent.Warned:
		if e.Fill.Window > 0 {
			t.note(fmt.Sprintf("The context window is %d %% full; /compact makes room.", e.Fill.Used*100/e.Fill.Window))
		}
	case agent.Compacting:
		t.note("The conversation is summarized to make room.")
	case agent.Compacted:
		t.note("The conversation goes on with a summary of what was said before.")
	case agent.NotCompacted:
		t.note(fmt.Sprintf("The conversation could not be summarized (%v): what does not fit is left out of the requests.", e.Err))
	case agent.Reminded:
		t.note("The agent was told: " + e.Text)
	}
}

// piece sends a piece of the model's answer to the client.
func (t *turn) piece(e agent.Event) {
	switch p := e.Piece; {
	case p.Kind == llm.CallDone:
		t.begins(p.Call, sdk.ToolCallStatusPending)
	case p.Kind == llm.Retrying:
		t.note(fmt.Sprintf("%v; trying again in %v.", p.Err, p.Wait))
	case p.Text == "":
	case p.Kind == llm.TextDelta:
		t.say(p.Text)
	case p.Kind == llm.ThinkingDelta:
		t.conn.update(t.session, sdk.UpdateAgentThoughtText(p.Text))
	}
}

// say appends text to the agent's message.
func (t *turn) say(text string) { t.conn.update(t.session, sdk.UpdateAgentMessageText(text)) }

// note shows the person something that the agent does not say. It is not stored. It is sent as a thought, because the protocol
// has no other form for it.
func (t *turn) note(text string) { t.conn.update(t.session, sdk.UpdateAgentThoughtText(text+"\n")) }

// usage sends how full the context window is.
func (t *turn) usage(u llm.Usage) {
	if t.window == 0 || u.IsZero() {
		return
	}
	said := &sdk.SessionUsageUpdate{Size: t.window, Used: u.Total()}
	if spent := t.session.conversation().Spent(); spent.Known {
		said.Cost = &sdk.Cost{Amount: spent.USD, Currency: "USD"}
	}
	t.conn.update(t.session, sdk.SessionUpdate{UsageUpdate: said})
}

func (s *session) conversation() *agent.Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conv
}

// begins shows a call, or its new status.
func (t *turn) begins(call llm.Part, status sdk.ToolCallStatus) {
	t.mu.Lock()
	c, known := t.calls[call.CallID]
	if !known {
		c = &shownCall{id: t.session.callName(call.CallID), args: argumentsOf(call.Args)}
		t.calls[call.CallID] = c
	}
	t.mu.Unlock()
	if known {
		t.conn.update(t.session, sdk.UpdateToolCall(c.id, sdk.WithUpdateStatus(status)))
		return
	}
	t.conn.update(t.session, started(t.session, c.id, call, c.args, status))
}

// started returns the first update about a call.
func started(s *session, id sdk.ToolCallId, call llm.Part, a arguments, status sdk.ToolCallStatus) sdk.SessionUpdate {
	u := &sdk.SessionUpdateToolCall{
		ToolCallId: id, Title: title(call, a), Kind: displayOf(call.Name).kind, Status: status,
		Locations: locations(s, a), Content: proposed(s, a),
	}
	if json.Valid([]byte(call.Args)) {
		u.RawInput = json.RawMessage(call.Args)
	}
	return sdk.SessionUpdate{ToolCall: u}
}

// ends shows the result of a call.
func (t *turn) ends(e agent.Event) {
	t.begins(e.Call, sdk.ToolCallStatusInProgress) // shows the call if it was not shown before
	t.mu.Lock()
	c := t.calls[e.Call.CallID]
	delete(t.calls, e.Call.CallID)
	asked, outside := c.asked, c.outside
	t.mu.Unlock()
	status, content := sdk.ToolCallStatusCompleted, resultContent(t.session, c.args, e.Result.Text, e.Result.Failed())
	switch {
	case e.Result.Failed():
		status, content = sdk.ToolCallStatusFailed, append(asked, content...)
	case asked != nil && !outside:
		content = asked
	}
	t.conn.update(t.session, ended(c.id, status, content, e.Result.Text))
}

// maxRaw is the maximum length, in bytes, of a result that is also sent to the client unchanged.
const maxRaw = 64 << 10

func ended(id sdk.ToolCallId, status sdk.ToolCallStatus, content []sdk.ToolCallContent, text string) sdk.SessionUpdate {
	u := sdk.UpdateToolCall(id, sdk.WithUpdateStatus(status), sdk.WithUpdateContent(content))
	if len(text) <= maxRaw && json.Valid([]byte(text)) {
		u.ToolCallUpdate.RawOutput = json.RawMessage(text)
	}
	return u
}

// over marks the calls that have not ended as failed.
func (t *turn) over() {
	t.mu.Lock()
	open := t.calls
	t.calls = map[string]*shownCall{}
	t.mu.Unlock()
	for _, c := range open {
		t.conn.update(t.session, sdk.UpdateToolCall(c.id, sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
	}
}

// callName returns the id of a call for the client. Some endpoints number the calls of each answer from the start. So a number is
// added to an id that was used before.
func (s *session) callName(name string) sdk.ToolCallId {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named == nil {
		s.named = map[string]int{}
	}
	s.named[name]++
	if n := s.named[name]; n > 1 {
		name = fmt.Sprintf("%s#%d", name, n)
	}
	return sdk.ToolCallId(name)
}
