package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/tool"
)

// Config says what a Server serves. Caller is needed, all else has defaults.
type Config struct {
	Caller tool.Caller
	// Aliases are further names that tools answer to, whether the Caller lists them
	// or not.
	Aliases map[string]string

	Version string // of the program
	Session string // the client session of Serve; "" makes one up

	// End, if set, is told that a client session is over.
	End func(session string)

	// Await publishes the tool await_result. Without it a call that waits for
	// a person is never answered before it has ended.
	Await bool
	// Wait is how long a call may wait for a person before it is answered
	// with "pending", where the client asked for progress. 0 is 45 s; less
	// than 0 is at once, as it is without progress.
	Wait time.Duration
	// Progress is the time between progress notifications; 0 is 15 s.
	Progress time.Duration
	// Keep is how long the result of a pending call is kept for await_result;
	// 0 is 15 min.
	Keep time.Duration

	// MaxMessage is the size of the largest message from a client, in bytes;
	// 0 is 32 MiB.
	MaxMessage int

	HTTP HTTP // for Handler

	// Memory bounds the bytes that calls hold, together with what else in this process
	// takes from it; those of one client session may hold two thirds. nil: a budget of
	// 96 MB of its own.
	Memory *budget.Budget

	Logger *slog.Logger // nil logs nothing
}

// HTTP is the part of a Config that Handler needs.
type HTTP struct {
	// Tokens are the bearer tokens that are let in, each 16 characters or
	// longer. Without one, no client is.
	Tokens []string
	// Allow reports whether another token is let in; nil: none is. It is called
	// at every request, also concurrently.
	Allow func(token string) bool
	// AllowedHosts are further names, with or without a port, that may stand
	// in the Host header. The loopback names always may.
	AllowedHosts []string
	// Elsewhere says that another server may have begun a session: a request of an unknown session is served by itself, like
	// requests of protocol revisions without sessions. Without Elsewhere the client has to start again.
	Elsewhere bool
}

// defaultWait is below the 60 s after which many clients give up on a call.
const defaultWait = 45 * time.Second

// ErrClosed is returned by what is called on a closed Server.
var ErrClosed = errors.New("mcp server is closed")

// Server serves tools over MCP. It may be used concurrently; Close ends it.
type Server struct {
	config  Config
	log     *slog.Logger
	limits  limits // of Serve
	mcp     *mcp.Server
	calls   callTable
	memory  *budget.Family // of Config.Memory, for each client session
	watched sync.Map       // names of the MCP sessions whose end is waited for

	base context.Context // done when the server closes
	stop context.CancelFunc
	gate gate
}

// New returns a Server for the tools that config.Caller has now.
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
	s := &Server{config: config, log: config.Logger, limits: defaultLimits}
	s.base, s.stop = context.WithCancel(context.Background())
	s.calls.keep, s.calls.log = config.Keep, config.Logger
	s.memory = budget.NewFamily(budget.Token, max(config.Memory.Limit()*2/3, 1))
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "stet", Version: config.Version}, &mcp.ServerOptions{
		// The list of tools never changes, and nothing is logged to clients.
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
	if c.Wait == 0 {
		c.Wait = defaultWait
	}
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
		c.Memory = budget.New(budget.Process, 96<<20)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Close cancels every call, ends every session and waits for both. It may be
// called more than once.
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
			_ = session.Close() // it fails when the client is gone, which is as good
		}
		select {
		case <-done:
			return nil
		case <-time.After(10 * time.Millisecond): // one that was just beginning
		}
	}
}

// gate lets work in until it is closed, and then waits for what is inside.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// enter reports whether work may begin; leave has to follow if it may.
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

// shortID is a name that a model can repeat without spending tokens on it. It
// is no secret: what it names is bound to a client session.
func shortID() string { return rand.Text()[:8] }
