package acp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/internal/rpclines"
	"github.com/stet-dev/stet/llm"
	stored "github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// One client is served: what is configured, how it begins, and how it ends.

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
	return cmp.Or(c.Log, slog.New(slog.DiscardHandler))
}

func (c *Config) ready() error {
	if c.Ready == nil {
		return nil
	}
	return c.Ready()
}

// finishTime is the time limit for earlier requests after the end of input. grace is the time limit for running turns after ctx
// is done.
const (
	finishTime = 10 * time.Second
	grace      = 3 * time.Second
)

// Serve serves one client. It returns at the end of in, when ctx is done, or when writing to out fails, which is an error. It
// closes neither in nor out. A Read or a Write that is blocked at the end stays blocked in its goroutine.
func Serve(ctx context.Context, config Config, in io.Reader, out io.Writer) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &connection{config: config, sessions: map[string]*session{}, spaces: map[string]*space{}, over: serving.Done()}
	c.out = &lineWriter{out: out, fail: func(err error) { stop(err) }}
	read, write := io.Pipe()
	c.sdk = sdk.NewConnection(c.handle, c.out, read)
	c.sdk.SetLogger(config.log())
	ended := make(chan error, 1)
	go func() {
		r := &lineReader{in: rpclines.NewReader(in, maxMessage), out: c.out, sdk: write, conn: c}
		ended <- r.run()
	}()

	var err error
	select {
	case err = <-ended:
		c.stop()
		wait(c.out.allAnswered(), serving.Done(), finishTime)
	case <-serving.Done():
		c.stop()
		wait(c.out.allAnswered(), nil, grace)
	}
	if cause := context.Cause(serving); ctx.Err() == nil && cause != nil {
		err = cause // nothing more can be written
	}
	stop(nil)
	_ = write.Close() // never fails
	_ = read.Close()
	<-c.sdk.Done()
	return errors.Join(err, c.close())
}

// wait waits until done or stopped is closed, but not longer than most.
func wait(done, stopped <-chan struct{}, most time.Duration) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-done:
	case <-stopped:
	case <-late.C:
	}
}
