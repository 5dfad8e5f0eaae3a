package acp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/mcpclient"
	stored "github.com/stet-dev/stet/session"
)

// session is one of the protocol's. It keeps its name when the conversation
// goes on in another stored session.
type session struct {
	id    string
	dir   string // as the client names it, absolute
	space *space
	tools string // the client session of its tools

	servers *mcpclient.Group // nil: none
	opened  bool             // it is in the store; of who has the turn
	begun   bool             // conv is the one that is stored, with all its tools; of who has the turn

	mu      sync.Mutex
	conv    *agent.Conversation // before the first prompt, one that is not stored
	mode    sdk.SessionModeId
	notes   []string       // what the person is to be told with the next turn
	waiting int            // prompts that came in and are not at work
	refused bool           // those that wait are cancelled
	turn    func()         // cancels what is under way; nil: nothing is
	named   map[string]int // calls, by what they were called
}

// arrive counts a prompt that came in.
func (s *session) arrive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		s.refused = false
	}
	s.waiting++
}

// take counts a prompt that is looked at, and reports whether it was cancelled
// meanwhile.
func (s *session) take() (cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancelled = s.refused && s.waiting > 0
	s.waiting = max(s.waiting-1, 0)
	return cancelled
}

// cancelAll cancels the turn, and the prompts that wait.
func (s *session) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = s.waiting > 0
	s.cancelHeld()
}

func (s *session) cancelTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelHeld()
}

func (s *session) cancelHeld() {
	if s.turn != nil {
		s.turn()
	}
}

// enter begins a turn. There is one at a time.
func (s *session) enter(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		cancel()
		return nil, nil, worded(sdk.NewInvalidRequest, "the session answers another prompt")
	}
	s.turn = cancel
	if cancelled, _ := ctx.Value(early{}).(bool); cancelled {
		cancel()
	}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turn = nil
	}, nil
}

// end forgets what the session's tools were granted, and ends its MCP servers.
func (s *session) end() {
	if s.servers != nil {
		s.servers.Close()
	}
	if s.space.End != nil {
		s.space.End(s.tools)
	}
}

// begin is the conversation, stored, and with all its tools: only now is there
// something to be found again. The caller has the turn.
func (s *session) begin(ctx context.Context, tell func(string)) (*agent.Conversation, error) {
	if s.begun {
		return s.conv, nil
	}
	a, err := s.agent(ctx, tell)
	if err != nil {
		return nil, err
	}
	if !s.opened { // it may have been, by a prompt that was cancelled then
		first := stored.Batch{Session: s.id, Events: []stored.Event{{Time: time.Now(), Body: stored.Opening{Dir: s.space.Agent.Dir}}}}
		if err := s.space.Agent.Store.Append(ctx, first); err != nil {
			return nil, err
		}
		s.opened = true
	}
	conv, err := a.Resume(ctx, s.id)
	if err != nil {
		return nil, err
	}
	s.begun = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv = conv
	return conv, nil
}

func (l *link) newSession(ctx context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	var none sdk.NewSessionResponse
	if err := l.needReady(); err != nil {
		return none, err
	}
	w, err := l.space(ctx, p.Cwd)
	if err != nil {
		return none, err
	}
	conv, err := w.Agent.New(ctx)
	if err != nil {
		return none, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return none, err
	}
	s := &session{id: id.String(), tools: id.String(), dir: filepath.Clean(p.Cwd), space: w, conv: conv, mode: modeAsk}
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": sdk.ClientMethodSessionUpdate,
		"params": sdk.SessionNotification{SessionId: sdk.SessionId(s.id), Update: commandsUpdate()},
	})
	if err != nil {
		return none, err
	}
	if err := l.open(s, offer{p.McpServers, p.AdditionalDirectories}); err != nil {
		return none, err
	}
	l.out.followUp(s.id, append(line, '\n')) // the client learns of the name first
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(s.id), Modes: l.modes(s)}, nil
}

// open makes a session one of the link's, in the place of the one that it was
// opened as before.
func (l *link) open(s *session, o offer) error {
	l.mu.Lock()
	was, ok := l.sessions[s.id]
	switch {
	case l.stopped:
		l.mu.Unlock()
		return context.Canceled
	case ok && was.busy():
		l.mu.Unlock()
		return worded(sdk.NewInvalidRequest, "the session answers a prompt")
	}
	l.take(s, o)
	l.sessions[s.id] = s
	l.mu.Unlock()
	if ok && was.servers != nil {
		was.servers.Close()
	}
	return nil
}

func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != nil
}

// opened returns the session of a request.
func (l *link) opened(id sdk.SessionId) (*session, error) {
	if s := l.session(string(id)); s != nil {
		return s, nil
	}
	return nil, &sdk.RequestError{Code: notFound, Message: "there is no open session \"" + string(id) + "\": open it by session/load"}
}

func (l *link) closeSession(_ context.Context, p sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := l.opened(p.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	l.mu.Lock()
	delete(l.sessions, s.id)
	l.mu.Unlock()
	s.cancelTurn()
	s.end()
	return sdk.CloseSessionResponse{}, nil
}

// update sends the client an update. Where it cannot be sent, the connection
// ends by itself.
func (l *link) update(s *session, u sdk.SessionUpdate) {
	n := sdk.SessionNotification{SessionId: sdk.SessionId(s.id), Update: u}
	if err := l.sdk.SendNotification(context.Background(), sdk.ClientMethodSessionUpdate, n); err != nil {
		l.config.log().Debug("update", "session", s.id, "err", err)
	}
}
