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

// Config is the configuration of Serve. Open and Store are required.
type Config struct {
	// Open opens the workspace of a directory, given by its absolute path. It is called once for each directory. The Workspace is
	// used until Close. The approver of its tools should be an Approver or pass questions to one. If the directory cannot be a
	// workspace, the error wraps ErrDirectory.
	Open func(ctx context.Context, dir string) (*Workspace, error)

	Store stored.Store // where the agents store their conversations; used to list and load them

	// Ready returns an error that says what a person has to do before a model can be asked. It is called again when the person
	// says that it is done. A nil Ready is always ready.
	Ready func() error

	// Relays says that under the policy an answer in the editor may be enough. Then sessions have a mode in which ordinary writes
	// need no question.
	Relays bool

	// Image makes a part of a message from an image. data is base64. It returns false if the model does not accept the image.
	// Nil: the model accepts no images.
	Image func(mime, data string) (llm.Part, bool)

	// Environ is the environment of MCP servers, "NAME=value". A server may have more variables.
	Environ []string

	Version string       // of the program; sent to the client
	Log     *slog.Logger // nil: no log
}

// ErrDirectory is the error for a directory that cannot be a workspace.
var ErrDirectory = errors.New("not a workspace")

// Workspace is an open directory with its agent.
type Workspace struct {
	// Agent is the agent of this workspace alone. Serve replaces its Tools and Client.
	Agent *agent.Agent

	// Text returns the decoded text of a file on disk. path is the path in the workspace. Nil: the editor's buffers are not read.
	Text func(ctx context.Context, path string) (string, error)

	// With returns a runner for the agent's tools and for additional tools: those of the MCP servers that a session names. Nil:
	// MCP servers are not connected.
	With func(*tool.Set) tool.Starter

	// End is called when a client session has ended. It may be nil.
	End func(session string)

	// Close is called when no call is running. It may be nil.
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
