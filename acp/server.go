package acp

import (
	"context"
	"errors"
	"io"
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
	_ = write.Close() // it never fails
	_ = read.Close()
	<-c.sdk.Done()
	return errors.Join(err, c.close())
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
