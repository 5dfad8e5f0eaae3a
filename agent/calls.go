package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// The calls of an answer: they run at once, within a time after an interruption, and repetitions are noticed.

// done is a call with its result.
type done struct {
	call   llm.Part
	result tool.Result
	took   time.Duration
}

// work runs a call.
type work func(context.Context) (tool.Result, error)

// do runs the calls of an answer concurrently, up to the agent's limit, and stores each result when it arrives. cut means
// that the answer was cut off, so the last call may be incomplete. do reports whether another request is due.
func (r *run) do(ctx context.Context, calls []llm.Part, cut bool) (bool, error) {
	results := make(chan done, len(calls))
	waiting := make(chan chan struct{})
	working, stop := context.WithCancel(ctx)
	working = tool.WithWitness(working, r.witness(working, waiting))
	var starting sync.WaitGroup
	starting.Go(func() { r.start(working, calls, cut, results) })
	defer starting.Wait()
	defer stop()
	var all []done
	for len(all) < len(calls) {
		var d done
		select {
		case d = <-results:
		case stored := <-waiting:
			if err := r.append(ctx); err != nil {
				return false, err
			}
			close(stored)
			continue
		}
		all = append(all, d)
		d.result.Text = cutText(d.result.Text, r.a.maxResult(len(calls)))
		bodies := []session.Body{result(d)}
		var end []llm.Part
		if len(all) == len(calls) {
			end = r.afterCalls(ctx, all)
		}
		if len(end) > 0 {
			bodies = append(bodies, newMessage(llm.User, end...))
		}
		if err := r.append(ctx, bodies...); err != nil {
			return false, err
		}
		r.tell(Event{Kind: CallEnds, Call: d.call, Result: d.result, Took: d.took})
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if r.loops.looping() {
		r.out.End = Looping
		return false, nil
	}
	return true, nil
}

// witness returns a function that stores a person's decision about a call. The function returns when the decision is
// stored, and only then the call continues. ctx is the context of the calls. After it has ended, the decision is stored
// together with the results.
func (r *run) witness(ctx context.Context, waiting chan<- chan struct{}) func(tool.Decision) {
	return func(d tool.Decision) {
		r.keep(session.Approval{
			CallID: d.CallID, Tool: d.Tool, Path: d.Path, Decision: d.Verdict, By: d.By, Grant: d.Grant, Words: d.Words,
		})
		stored := make(chan struct{})
		select {
		case waiting <- stored:
		case <-ctx.Done():
			return
		}
		select {
		case <-stored:
		case <-ctx.Done(): // the decision could not be stored
		}
	}
}

// start starts the calls in order, at most Agent.Parallel at once, and waits for all of them. It sends exactly one result
// for each call.
func (r *run) start(ctx context.Context, calls []llm.Part, cut bool, results chan<- done) {
	slots := make(chan struct{}, cmp.Or(r.a.Parallel, 8))
	var running sync.WaitGroup
	defer running.Wait()
	for i, call := range calls {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil:
			results <- done{call: call, result: failed(call, tool.Cancelled, interrupted)}
			continue
		case cut && i == len(calls)-1:
			results <- done{call: call, result: failed(call, tool.InvalidArgument, cutCall)}
			continue
		case !isObject(call.Args):
			results <- done{call: call, result: failed(call, tool.InvalidArgument, noObject(call.Args))}
			<-slots
			continue
		}
		r.tell(Event{Kind: CallBegins, Call: call})
		do := r.started(call)
		running.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			res := r.settled(ctx, call, do)
			results <- done{call: call, result: res, took: time.Since(began)}
		})
	}
}

// started registers the call, which decides its turn in the order, and returns the function that runs it. If the tool
// panics here, only this call fails.
func (r *run) started(call llm.Part) (do work) {
	defer func() {
		if v := recover(); v != nil {
			broke := &panicked{v, string(debug.Stack())}
			do = func(context.Context) (tool.Result, error) { return tool.Result{}, broke }
		}
	}()
	c := tool.Call{
		ID: call.CallID, Session: r.clientSession(), Client: cmp.Or(r.a.Client, "stet"), Name: call.Name,
		Arguments: json.RawMessage(cmp.Or(strings.TrimSpace(call.Args), "{}")),
	}
	if r.a.Tools == nil {
		return func(context.Context) (tool.Result, error) {
			return failed(call, tool.InvalidArgument, fmt.Sprintf("there is no tool %q.", call.Name)), nil
		}
	}
	return tool.Start(r.a.Tools, c)
}

func (c *Conversation) clientSession() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// settled runs a call. An error of the tool becomes a result, so that the model sees it.
func (r *run) settled(ctx context.Context, call llm.Part, do work) tool.Result {
	res, err := do.within(ctx, grace)
	switch {
	case err == nil:
		return res
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return failed(call, tool.Cancelled, unsure)
	}
	log := r.a.log().With("tool", call.Name)
	if broke := (*panicked)(nil); errors.As(err, &broke) {
		log = log.With("stack", broke.stack)
	}
	log.Error("tool call", "err", err)
	return failed(call, tool.HostUnavailable, fmt.Sprintf("the tool broke: %v", err))
}

func failed(call llm.Part, code tool.Code, text string) tool.Result {
	return tool.Result{CallID: call.CallID, Text: text, Code: code}
}

// result returns a result in the form in which it is stored.
func result(d done) session.Message {
	return newMessage(llm.Tool, llm.Part{
		Kind: llm.ToolResult, CallID: d.call.CallID, Text: d.result.Text, IsError: d.result.Failed(),
	})
}

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

// loopDetector detects that a model repeats itself: the same calls have the same results, without a new result in between.
type loopDetector struct {
	limit int // repetitions before the model is warned
	seen  map[[32]byte]bool
	count map[[32]byte]int // repetitions since the last new result
	worst int
}

// took matches the duration in a result. A result that differs only in it is not new.
var took = regexp.MustCompile(`"time_ms":\s*[0-9]+`)

// moreRepeats is the number of repetitions that are allowed after the model was warned.
const moreRepeats = 2

// see records the calls of one answer. It reports whether to warn the model.
func (g *loopDetector) see(all []done) (remind bool) {
	if g.seen == nil {
		g.seen, g.count = map[[32]byte]bool{}, map[[32]byte]int{}
	}
	keys := make([][32]byte, len(all))
	news := false
	for i, d := range all {
		keys[i] = sha256.Sum256([]byte(d.call.Name + "\x00" + d.call.Args + "\x00" + took.ReplaceAllString(d.result.Text, "")))
		news = news || !g.seen[keys[i]]
		g.seen[keys[i]] = true
	}
	if news {
		clear(g.count)
		g.worst = 0
	}
	for _, k := range keys {
		g.count[k]++
		g.worst = max(g.worst, g.count[k])
	}
	return g.worst == g.limit
}

// looping reports whether the model was warned and has continued to repeat itself.
func (g *loopDetector) looping() bool { return g.worst >= g.limit+moreRepeats }
