package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	stored "github.com/stet-dev/stet/session"
)

// Stored conversations are listed, opened again, and shown.

// page is the maximum number of sessions in a list.
const page = 50

func (c *connection) loadSession(ctx context.Context, p sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	s, chain, err := c.reopen(ctx, string(p.SessionId), p.Cwd)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	if err := c.open(s, offer{p.McpServers, p.AdditionalDirectories}); err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	for _, u := range s.replay(chain) {
		c.update(s, u)
	}
	c.update(s, commandsUpdate())
	return sdk.LoadSessionResponse{Modes: c.modes(s)}, nil
}

func (c *connection) resumeSession(ctx context.Context, p sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, _, err := c.reopen(ctx, string(p.SessionId), p.Cwd)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	if err := c.open(s, offer{p.McpServers, p.AdditionalDirectories}); err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	c.update(s, commandsUpdate())
	return sdk.ResumeSessionResponse{Modes: c.modes(s)}, nil
}

// reopen opens a stored session. It also returns stored states: those of the sessions that were compacted into this one, oldest
// first, and its own.
func (c *connection) reopen(ctx context.Context, id, cwd string) (*session, []stored.State, error) {
	if err := c.needReady(); err != nil {
		return nil, nil, err
	}
	found, err := c.config.Store.List(ctx, stored.Query{ID: id})
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(found, func(i stored.Info) bool { return i.ID == id && id != "" })
	if i < 0 {
		return nil, nil, &sdk.RequestError{Code: notFound, Message: fmt.Sprintf("there is no session %q: session/list names those that are stored", id)}
	}
	w, err := c.space(ctx, cwd)
	if err != nil {
		return nil, nil, err
	}
	if filepath.Clean(found[i].Dir) != filepath.Clean(w.Agent.Dir) {
		return nil, nil, wrong("session %s belongs to %s, not to %s", id, found[i].Dir, cwd)
	}
	conv, err := w.Agent.Resume(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	chain, err := c.chain(ctx, conv.State())
	if err != nil {
		return nil, nil, err
	}
	return &session{id: id, tools: chain[0].ID, dir: filepath.Clean(cwd), space: w, conv: conv, stored: true, begun: true, mode: modeAsk}, chain, nil
}

// chain returns the states of the sessions that were compacted into st, oldest first, and then st.
func (c *connection) chain(ctx context.Context, st stored.State) ([]stored.State, error) {
	out := []stored.State{st}
	seen := map[string]bool{st.ID: true}
	for st.From.Relation == stored.Compacted && !seen[st.From.Session] {
		seen[st.From.Session] = true
		was, err := stored.Resume(ctx, c.config.Store, st.From.Session)
		if errors.Is(err, stored.ErrNotFound) {
			break // that session is not in this store
		}
		if err != nil {
			return nil, err
		}
		st = was.State()
		out = append(out, st)
	}
	slices.Reverse(out)
	return out, nil
}

func (c *connection) listSessions(ctx context.Context, p sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	q := stored.Query{Open: true}
	if p.Cwd != nil {
		if !filepath.IsAbs(*p.Cwd) {
			return out, wrong("cwd has to be an absolute path, not %q", *p.Cwd)
		}
		if err := c.needReady(); err != nil {
			return out, err
		}
		w, err := c.space(ctx, *p.Cwd)
		if err != nil {
			return out, err
		}
		q.Dir = w.Agent.Dir
	}
	from := 0
	if p.Cursor != nil {
		n, err := strconv.Atoi(*p.Cursor)
		if err != nil || n < 0 {
			return out, wrong("this cursor is none that was given out")
		}
		from = n
	}
	all, err := c.config.Store.List(ctx, q)
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(i stored.Info) bool { return i.Count == 0 || !filepath.IsAbs(i.Dir) })
	all = all[min(from, len(all)):]
	if len(all) > page {
		next := strconv.Itoa(from + page)
		out.NextCursor, all = &next, all[:page]
	}
	for _, i := range all {
		out.Sessions = append(out.Sessions, info(i))
	}
	return out, nil
}

func info(i stored.Info) sdk.SessionInfo {
	updated := i.Updated.UTC().Format(time.RFC3339)
	s := sdk.SessionInfo{SessionId: sdk.SessionId(i.ID), Cwd: i.Dir, UpdatedAt: &updated}
	title := cmp.Or(i.Title, i.First)
	if title != "" {
		s.Title = &title
	}
	return s
}

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
