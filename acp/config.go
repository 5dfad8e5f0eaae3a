package acp

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	stored "github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// Config is what a Server works with. Open and Store are needed.
type Config struct {
	// Open makes the agent for a directory, which is absolute. It is called
	// once for each; what it returns is used until Close. The approver of its
	// tools should be, or lead to, an Approver. An error in the directory
	// itself wraps ErrDirectory.
	Open func(ctx context.Context, dir string) (*Workspace, error)

	Store stored.Store // where the agents keep their conversations, to list and load them

	// Ready says what a person has to do before a model can be asked; nil:
	// nothing. It is asked again when they say that they have done it. The
	// zero value is always ready.
	Ready func() error

	// Relays says that the policy may let an answer in the editor suffice.
	// Then there is a mode in which ordinary writes are not asked about.
	Relays bool

	// Image makes a part of a message of an image: its data in base64. Nil: the
	// model takes none.
	Image func(mime, data string) (llm.Part, bool)

	// Environ is the environment that MCP servers begin with, "NAME=value".
	Environ []string

	Version string       // of the program, for the client
	Log     *slog.Logger // nil: silence
}

// ErrDirectory says that a directory cannot be a workspace.
var ErrDirectory = errors.New("not a workspace")

// Workspace is a directory with its agent.
type Workspace struct {
	// Agent is the workspace's own, with its sub-agents. Their Tools and Client
	// are replaced before they are used.
	Agent *agent.Agent

	// Text is the decoded text of a file as it is on disk, by its path in the
	// workspace. Nil: the editor's buffers are not asked for.
	Text func(ctx context.Context, path string) (string, error)

	// With runs the calls of the agent's tools, and of others beside them: those of
	// the MCP servers that a session names. Nil: none are connected to.
	With func(*tool.Set) tool.Starter

	// End is called when a client session is over. It may be nil.
	End func(session string)

	// Close is called when no call is at work any more. It may be nil.
	Close func() error
}

func (c *Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

func (c *Config) ready() error {
	if c.Ready == nil {
		return nil
	}
	return c.Ready()
}
