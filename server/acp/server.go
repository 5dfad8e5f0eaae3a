package acp

import (
	"context"
	"errors"
	"io"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/rpclines"
)

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
