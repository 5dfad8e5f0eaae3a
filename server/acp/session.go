package acp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/agent/mcpclient"
	stored "github.com/stet-dev/stet/session"
)

// session is a session of the protocol. It keeps its id when the conversation continues in another stored session.
type session struct {
	id    string
	dir   string // absolute, in the form that the client uses
	space *space
	tools string // the client session of its tools

	servers *mcpclient.Group // nil: no servers
	// Used only by the goroutine of the current turn.
	stored bool // the session is in the store
	begun  bool // conv is the stored conversation, with all its tools

	mu      sync.Mutex
	conv    *agent.Conversation // before the first prompt, a conversation that is not stored
	mode    sdk.SessionModeId
	notes   []string       // shown to the person in the next turn
	waiting int            // prompts that were received and that handle has not taken
	taken   []*promptStart // prompts that were taken and have no turn yet
	refused bool           // the waiting prompts are cancelled
	turn    func()         // cancels the turn; nil: there is no turn
	named   map[string]int // how many calls had this name
}

// promptArrived counts a received prompt.
func (s *session) promptArrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		s.refused = false
	}
	s.waiting++
}

// promptStart is a prompt that was taken and has no turn yet.
type promptStart struct {
	cancelled bool // protected by session.mu
}

// promptTaken takes a received prompt. From then on it can be cancelled, also before its turn begins: enter checks cancelled.
func (s *session) promptTaken() *promptStart {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &promptStart{cancelled: s.refused && s.waiting > 0}
	s.waiting = max(s.waiting-1, 0)
	s.taken = append(s.taken, p)
	return p
}

// promptOver removes a prompt that got no turn.
func (s *session) promptOver(p *promptStart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeTaken(p)
}

func (s *session) removeTaken(p *promptStart) {
	s.taken = slices.DeleteFunc(s.taken, func(q *promptStart) bool { return q == p })
}

// cancelAll cancels the turn, and all prompts that have no turn yet.
func (s *session) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = s.waiting > 0
	for _, p := range s.taken {
		p.cancelled = true
	}
	s.cancelTurnLocked()
}

func (s *session) cancelTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelTurnLocked()
}

func (s *session) cancelTurnLocked() {
	if s.turn != nil {
		s.turn()
	}
}

// enter begins a turn. Only one turn can run at a time. The returned function ends the turn.
func (s *session) enter(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		cancel()
		return nil, nil, worded(sdk.NewInvalidRequest, "the session answers another prompt: wait for its end, or send session/cancel")
	}
	s.turn = cancel
	if p, ok := ctx.Value(promptKey{}).(*promptStart); ok {
		s.removeTaken(p)
		if p.cancelled {
			cancel()
		}
	}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turn = nil
	}, nil
}

// end removes the grants of the session's tools, and ends its MCP servers.
func (s *session) end() {
	if s.servers != nil {
		s.servers.Close()
	}
	if s.space.End != nil {
		s.space.End(s.tools)
	}
}

// begin returns the stored conversation, with all its tools. It stores a session at its first prompt. The caller is in the turn.
func (s *session) begin(ctx context.Context, tell func(string)) (*agent.Conversation, error) {
	if s.begun {
		return s.conv, nil
	}
	a, err := s.agent(ctx, tell)
	if err != nil {
		return nil, err
	}
	if !s.stored { // a cancelled prompt may have stored it
		first := stored.Batch{Session: s.id, Events: []stored.Event{{Time: time.Now(), Body: stored.Opening{Dir: s.space.Agent.Dir}}}}
		if err := s.space.Agent.Store.Append(ctx, first); err != nil {
			return nil, err
		}
		s.stored = true
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

func (c *connection) newSession(ctx context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	var none sdk.NewSessionResponse
	if err := c.needReady(); err != nil {
		return none, err
	}
	w, err := c.space(ctx, p.Cwd)
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
	if err := c.open(s, offer{p.McpServers, p.AdditionalDirectories}); err != nil {
		return none, err
	}
	c.out.followUp(s.id, append(line, '\n')) // the client must know the id first
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(s.id), Modes: c.modes(s)}, nil
}

// open adds a session to the connection. It replaces an open session with the same id.
func (c *connection) open(s *session, o offer) error {
	c.mu.Lock()
	was, ok := c.sessions[s.id]
	switch {
	case c.stopped:
		c.mu.Unlock()
		return context.Canceled
	case ok && was.busy():
		c.mu.Unlock()
		return worded(sdk.NewInvalidRequest, "the session answers a prompt: wait for its end, or send session/cancel")
	}
	c.accept(s, o)
	c.sessions[s.id] = s
	c.mu.Unlock()
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

// opened returns the open session that a request names.
func (c *connection) opened(id sdk.SessionId) (*session, error) {
	if s := c.session(string(id)); s != nil {
		return s, nil
	}
	return nil, &sdk.RequestError{Code: notFound, Message: "there is no open session \"" + string(id) + "\": open it by session/load"}
}

func (c *connection) closeSession(_ context.Context, p sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := c.opened(p.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	c.mu.Lock()
	delete(c.sessions, s.id)
	c.mu.Unlock()
	s.cancelTurn()
	s.end()
	return sdk.CloseSessionResponse{}, nil
}

// update sends an update to the client. If this fails, the connection ends without further action here.
func (c *connection) update(s *session, u sdk.SessionUpdate) {
	n := sdk.SessionNotification{SessionId: sdk.SessionId(s.id), Update: u}
	if err := c.sdk.SendNotification(context.Background(), sdk.ClientMethodSessionUpdate, n); err != nil {
		c.config.log().Debug("update", "session", s.id, "err", err)
	}
}
