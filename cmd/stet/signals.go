package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// notify relays signals to a channel, all but those that stet was started
// with ignored: under nohup a hang-up ends nothing.
func notify(signals []os.Signal) chan os.Signal {
	c := make(chan os.Signal, 16)
	heard := slices.DeleteFunc(slices.Clone(signals), signal.Ignored)
	if len(heard) > 0 { // with none, Notify would relay all
		signal.Notify(c, heard...)
	}
	return c
}

// outliveReader makes a write to a pipe that nobody reads any more an error of
// that write, where it would end the program: it has yet to write down what it
// did. What it starts is not concerned. stop ends that.
func outliveReader() (stop func()) {
	if signal.Ignored(syscall.SIGPIPE) {
		return func() {}
	}
	c := make(chan os.Signal, 1) // nobody reads it
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

// untilEnded returns a context that ends with a signal that asks stet to end, for
// a command that outlives whoever reads what it says. stop goes back on both.
func untilEnded(ctx context.Context) (_ context.Context, stop func()) {
	outlived := outliveReader()
	signals := notify(endSignals)
	ctx, end := untilSignal(ctx, signals)
	return ctx, func() {
		end()
		signal.Stop(signals)
		outlived()
	}
}

// untilSignal returns a context that ends with the next signal of c that asks
// stet to end; its cause is then what interrupted makes of it. stop ends the
// reading of c, and waits until it has ended.
func untilSignal(ctx context.Context, c <-chan os.Signal) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case s := <-c:
				if slices.Contains(endSignals, s) {
					cancel(interrupted(s))
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

// lastCall is untilSignal for work that is the last: a second signal ends the
// program as if it were not caught.
func lastCall(ctx context.Context, c chan os.Signal) (_ context.Context, stop func()) {
	ctx, end := untilSignal(ctx, c)
	context.AfterFunc(ctx, func() { signal.Stop(c) })
	return ctx, end
}

// untilEndedLast is untilEnded for work that is the last: a second signal ends the
// program as if it were not caught.
func untilEndedLast(ctx context.Context) (_ context.Context, stop func()) {
	outlived := outliveReader()
	signals := notify(endSignals)
	ctx, end := lastCall(ctx, signals)
	return ctx, func() {
		end()
		signal.Stop(signals)
		outlived()
	}
}

// pending takes what waits in c, and returns the first of it that asks stet to
// end; nil if there is none.
func pending(c <-chan os.Signal) os.Signal {
	for {
		select {
		case s := <-c:
			if slices.Contains(endSignals, s) {
				return s
			}
		default:
			return nil
		}
	}
}
