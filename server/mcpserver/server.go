package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// Config says what a Server serves. Caller is required. All other fields have defaults.
type Config struct {
	Caller tool.Caller
	// Aliases are additional names of tools: from the additional name to the name in Specs. A tool may answer to a name that the
	// Caller does not list.
	Aliases map[string]string

	Version string // of the program
	Session string // the client session of Serve; "": a random name

	// End, if set, is called when a client session has ended.
	End func(session string)

	// Await adds the tool await_result. Without it a request is answered only when its call has ended.
	Await bool
	// Wait is how long a call may wait for a person before it is answered with "pending". It applies if the client asked for
	// progress; otherwise the call is answered at once. 0 means 45 s. A negative value means at once.
	Wait time.Duration
	// Progress is the time between progress notifications; 0 means 15 s.
	Progress time.Duration
	// Keep is how long the result of a pending call is kept for await_result; 0 means 15 min.
	Keep time.Duration

	// MaxMessage is the maximum size of a message from a client, in bytes; 0 means 32 MiB.
	MaxMessage int

	HTTP HTTP // for Handler

	// Memory limits the bytes that calls hold. Other parts of the process may use the same budget. The calls of one client
	// session may hold two thirds of it. nil: the Server has its own budget of 96 MiB.
	Memory *limits.Budget

	Logger *slog.Logger // nil: no log
}

// HTTP is the part of a Config that Handler needs.
type HTTP struct {
	// Tokens are the bearer tokens that are accepted. Each has 16 characters or more. Without tokens no client is accepted,
	// unless Allow is set.
	Tokens []string
	// Allow reports whether any other token is accepted, and the name of its account; nil: none is. It is called at every request,
	// also concurrently.
	Allow func(token string) (account string, ok bool)
	// AllowedHosts are additional names, with or without a port, that are accepted in the Host header. The loopback names are
	// always accepted.
	AllowedHosts []string
	// Elsewhere says that sessions may also exist on other servers. Then a request of an unknown session is served on its own,
	// like requests of revisions without sessions. Without Elsewhere the client has to start a new session.
	Elsewhere bool
	// Held limits the bytes of each token's sessions. Other parts of the process may share it. nil: the Server has its own.
	Held *limits.Held
}

// defaultWait is less than the 60 s after which many clients give up on a call.
const defaultWait = 45 * time.Second

// ErrClosed is the error of methods of a closed Server.
var ErrClosed = errors.New("mcp server is closed")

// Server serves tools over MCP. Its methods may be called concurrently. Close ends it.
type Server struct {
	config Config
	log    *slog.Logger
	mcp    *mcp.Server
	calls  callTable
	memory *limits.Family // of Config.Memory, for each client session
	open   openSessions   // over HTTP

	base context.Context // done when the server closes
	stop context.CancelFunc
	gate gate
}

// New returns a Server for the current tools of config.Caller. An error says which field of config is invalid.
func New(config Config) (*Server, error) {
	if config.Caller == nil {
		return nil, errors.New("mcp server: no caller")
	}
	for i, token := range config.HTTP.Tokens {
		if len(token) < minToken {
			return nil, fmt.Errorf("mcp server: token %d is shorter than %d characters", i+1, minToken)
		}
	}
	config.fill()
	s := &Server{config: config, log: config.Logger}
	s.base, s.stop = context.WithCancel(context.Background())
	s.calls.keep, s.calls.log = config.Keep, config.Logger
	s.memory = limits.NewFamily(limits.Token, max(config.Memory.Limit()*2/3, 1))
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "stet", Version: config.Version}, &mcp.ServerOptions{
		// The list of tools never changes. No log messages are sent to clients.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = int(time.Hour/time.Millisecond), "private"
		},
	})
	s.mcp.AddReceivingMiddleware(s.receive)
	if err := s.publish(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (c *Config) fill() {
	if c.Session == "" {
		c.Session = "stdio-" + shortID()
	}
	c.Wait = cmp.Or(c.Wait, defaultWait)
	if c.Progress <= 0 {
		c.Progress = 15 * time.Second
	}
	if c.Keep <= 0 {
		c.Keep = 15 * time.Minute
	}
	if c.MaxMessage <= 0 {
		c.MaxMessage = 32 << 20
	}
	if c.Memory == nil {
		c.Memory = limits.NewBudget(limits.Process, 96<<20)
	}
	if c.HTTP.Held == nil {
		c.HTTP.Held = limits.NewHeld(0)
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
}

// Close cancels all calls, ends all sessions and waits for both. It may be called more than once.
func (s *Server) Close() error {
	s.gate.close()
	s.stop() // cancels the calls
	done := make(chan struct{})
	go func() {
		s.gate.wait()
		close(done)
	}()
	for {
		for session := range s.mcp.Sessions() {
			_ = session.Close() // an error means that the client has disconnected
		}
		select {
		case <-done:
			return nil
		case <-time.After(10 * time.Millisecond): // again: a session may have started in the meantime
		}
	}
}

// gate counts running work. After close no work may begin, and wait waits for the running work.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// enter reports whether work may begin. If it returns true, the caller must call leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside.Add(1)
	return true
}

func (g *gate) leave() { g.inside.Done() }

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *gate) wait() { g.inside.Wait() }

// shortID returns a random name. It is short, because a model repeats it and pays for its tokens. It need not be secret, because
// it is only valid in one client session.
func shortID() string { return rand.Text()[:8] }

// session returns the name of the client session of a request. It is made from the MCP session, or else from the token, or else
// it is the session of Serve.
func (s *Server) session(req *mcp.CallToolRequest) string {
	if id := req.Session.ID(); id != "" {
		return mcpSession(id)
	}
	if account := accountOf(req); account != "" {
		return "token-" + account
	}
	return s.config.Session
}

// accountOf returns the name of a request's token; "" over stdio.
func accountOf(req *mcp.CallToolRequest) string {
	if req.Extra == nil || req.Extra.TokenInfo == nil {
		return ""
	}
	return req.Extra.TokenInfo.UserID
}

func mcpSession(id string) string { return "mcp-" + digest("session", id) }

// digest returns a short hash of a secret. The secret cannot be computed from it.
func digest(of, secret string) string {
	sum := sha256.Sum256([]byte("stet " + of + "\x00" + secret))
	return hex.EncodeToString(sum[:6])
}

func (s *Server) end(session string) {
	if s.config.End != nil {
		s.config.End(session)
	}
}
