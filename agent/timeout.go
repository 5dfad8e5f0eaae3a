package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/stet-dev/stet/tool"
)

// grace is how long a call may take after its context has ended. After that, a tool that ignores its context is no longer
// waited for.
const grace = 500 * time.Millisecond

// panicked is a panic in a tool.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// errNothing is the error of a tool that ended its goroutine.
var errNothing = errors.New("it ended without a result")

// within runs the work and waits for its end. After ctx has ended, it waits for at most patience. Then it returns the error
// of ctx, and it is not known whether the work was done. A panic becomes an error of type *panicked.
func (w work) within(ctx context.Context, patience time.Duration) (tool.Result, error) {
	type outcome struct {
		result tool.Result
		err    error
	}
	came := make(chan outcome, 1)
	go func() {
		o := outcome{err: errNothing}
		defer func() {
			if v := recover(); v != nil {
				o.err = &panicked{v, string(debug.Stack())}
			}
			came <- o
		}()
		o.result, o.err = w(ctx)
	}()
	select {
	case o := <-came:
		return o.result, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case o := <-came:
		return o.result, o.err
	case <-late.C:
		return tool.Result{}, ctx.Err()
	}
}
