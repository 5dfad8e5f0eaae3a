package acp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/rpclines"
)

// finishTime is how long requests may take that came before the end of input;
// grace is how long turns at work may take when ctx ends.
const (
	finishTime = 10 * time.Second
	grace      = 3 * time.Second
)

// Serve speaks with one client until in ends, ctx is done, or out cannot be
// written to, which is an error. It closes neither in nor out; a Read or a Write
// that hangs then is left behind.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l := &link{config: c, sessions: map[string]*session{}, spaces: map[string]*space{}, over: serving.Done()}
	l.out = &lineWriter{out: out, fail: func(err error) { stop(err) }}
	read, write := io.Pipe()
	l.sdk = sdk.NewConnection(l.handle, l.out, read)
	l.sdk.SetLogger(c.log())
	ended := make(chan error, 1)
	go func() {
		r := &lineReader{in: rpclines.NewReader(in, maxMessage), out: l.out, sdk: write, link: l}
		ended <- r.run()
	}()

	var err error
	select {
	case err = <-ended:
		l.stop()
		wait(l.out.allAnswered(), serving.Done(), finishTime)
	case <-serving.Done():
		l.stop()
		wait(l.out.allAnswered(), nil, grace)
	}
	if cause := context.Cause(serving); ctx.Err() == nil && cause != nil {
		err = cause // nothing more can be written
	}
	stop(nil)
	_ = write.Close() // it never fails
	_ = read.Close()
	<-l.sdk.Done()
	return errors.Join(err, l.close())
}

// wait waits until done or stopped is closed, or the time is over.
func wait(done, stopped <-chan struct{}, most time.Duration) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-done:
	case <-stopped:
	case <-late.C:
	}
}

// link is a client and all that it has opened.
type link struct {
	config Config
	sdk    *sdk.Connection
	out    *lineWriter
	over   <-chan struct{} // closed when nothing is begun any more

	handling sync.WaitGroup // requests at work

	mu       sync.Mutex
	ending   bool                   // turns are cancelled, and those that begin
	stopped  bool                   // nothing is begun any more
	client   *sdk.InitializeRequest // nil: it has not said who it is
	sessions map[string]*session
	spaces   map[string]*space
}

// stop cancels every turn, and those that begin later.
func (l *link) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
	for _, s := range l.sessions {
		s.cancelTurn()
	}
}

// close waits for what is at work, and closes the workspaces. What hangs in a
// write to a client that does not read is not waited for.
func (l *link) close() error {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		l.handling.Wait()
		close(idle)
	}()
	wait(idle, nil, grace)
	l.mu.Lock()
	sessions, spaces := l.sessions, l.spaces
	l.sessions, l.spaces = nil, nil
	l.mu.Unlock()
	var ending sync.WaitGroup // an MCP server may take its time
	for _, s := range sessions {
		ending.Go(s.end)
	}
	ending.Wait()
	var errs []error
	for _, s := range spaces {
		<-s.ready
		if s.Workspace != nil && s.Close != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// isEnding reports whether turns are to be cancelled.
func (l *link) isEnding() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending
}

// isInitialized reports whether the client has said who it is.
func (l *link) isInitialized() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client != nil
}

// name is what the client calls itself.
func (l *link) name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil || l.client.ClientInfo == nil || l.client.ClientInfo.Name == "" {
		return "editor"
	}
	return l.client.ClientInfo.Name
}

// readsBuffers reports whether the client tells what its buffers hold.
func (l *link) readsBuffers() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client != nil && l.client.ClientCapabilities.Fs.ReadTextFile
}

// session returns an open session; nil where there is none.
func (l *link) session(id string) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id]
}

// cancel cancels what a session does, or has been asked to.
func (l *link) cancel(id string) {
	if s := l.session(id); s != nil {
		s.cancelAll()
	}
}

// promptArrived notes that a prompt came in.
func (l *link) promptArrived(id string) {
	if s := l.session(id); s != nil {
		s.arrive()
	}
}
