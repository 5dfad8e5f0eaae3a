// Package process handles a program's signals, runs another program in the foreground, and makes the system start the proxy.
package process

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Interrupted is the error of work that a signal ended.
type Interrupted struct{ Signal os.Signal }

func (e *Interrupted) Error() string { return fmt.Sprintf("interrupted (%v)", e.Signal) }

// Notify relays signals to a channel, except those that were ignored when the program was started: under nohup a hang-up ends
// nothing.
func Notify(signals []os.Signal) chan os.Signal {
	c := make(chan os.Signal, 16)
	heard := slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
	if len(heard) > 0 { // without a signal, Notify would relay all
		signal.Notify(c, heard...)
	}
	return c
}

// OutliveReader makes a write to a pipe without a reader return an error. Otherwise the signal would end the program, which still
// has to store what it did. Child programs are not affected. stop undoes this.
func OutliveReader() (stop func()) {
	if signal.Ignored(syscall.SIGPIPE) {
		return func() {}
	}
	c := make(chan os.Signal, 1) // no goroutine reads it
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

// UntilEnded returns a context that ends with a signal that asks the program to end,
// for work that also outlives the reader of its output. stop ends both.
func UntilEnded(ctx context.Context) (_ context.Context, stop func()) {
	outlived := OutliveReader()
	signals := Notify(EndSignals)
	ctx, end := UntilSignal(ctx, signals)
	return ctx, func() {
		end()
		signal.Stop(signals)
		outlived()
	}
}

// UntilSignal returns a context that ends with the next signal of c that asks
// the program to end; its cause is then an Interrupted. stop ends the reading of c,
// and waits until it has ended.
func UntilSignal(ctx context.Context, c <-chan os.Signal) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case s := <-c:
				if slices.Contains(EndSignals, s) {
					cancel(&Interrupted{s})
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// LastCall is UntilSignal for a program's last work: a second signal ends the program as if it were not caught.
func LastCall(ctx context.Context, c chan os.Signal) (_ context.Context, stop func()) {
	ctx, end := UntilSignal(ctx, c)
	context.AfterFunc(ctx, func() { signal.Stop(c) })
	return ctx, end
}

// UntilEndedLast is UntilEnded for a program's last work: a second signal ends the program as if it were not caught.
func UntilEndedLast(ctx context.Context) (_ context.Context, stop func()) {
	outlived := OutliveReader()
	signals := Notify(EndSignals)
	ctx, end := LastCall(ctx, signals)
	return ctx, func() {
		end()
		signal.Stop(signals)
		outlived()
	}
}

// pending takes all signals that wait in c. It returns the first one that asks the program to end, or nil.
func pending(c <-chan os.Signal) os.Signal {
	for {
		select {
		case s := <-c:
			if slices.Contains(EndSignals, s) {
				return s
			}
		default:
			return nil
		}
	}
}
