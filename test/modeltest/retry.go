package modeltest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
)

// temporaryFaults are failures that may be temporary.
var temporaryFaults = map[string]llmtest.Fault{
	"429":             {Status: 429},
	"500":             {Status: 500},
	"502 of a proxy":  {Status: 502, Body: "<html>Bad Gateway</html>"},
	"529":             {Status: 529},
	"reset":           {Reset: true},
	"error at once":   {ErrorAfter: 1},
	"cut before text": {CutAfter: 1},
}

// triesAgain checks that after a temporary failure the client tries again, streamed and not. The pauses must grow and must be
// reported.
func triesAgain(t *testing.T, a Adapter) {
	for name, fault := range temporaryFaults {
		a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
			r.server.Fail(fault, fault, fault)
			start := time.Now()
			res, events, err := r.stream(request())
			if err != nil || res.Message.Parts[0].Text != "ok" || r.asked() != 4 {
				t.Fatalf("%s: %d requests, %+v, %v", name, r.asked(), res, err)
			}
			var waits []time.Duration
			total := time.Duration(0)
			for _, e := range events {
				if e.Kind == llm.Retrying {
					if e.Err == nil {
						t.Errorf("%s: tried again for no reason", name)
					}
					waits = append(waits, e.Wait)
					total += e.Wait
				}
			}
			if len(waits) != 3 || since(start) != total || waits[0] < 250*time.Millisecond || waits[2] < time.Second || total > 4*time.Second {
				t.Errorf("%s: waited %v, %v in all", name, waits, since(start))
			}
		})
	}
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Status: 529}, llmtest.Fault{Reset: true}, llmtest.Fault{Status: 503})
		if res, err := r.model.Complete(t.Context(), request()); err != nil || res.Message.Parts[0].Text != "ok" || r.asked() != 4 {
			t.Errorf("not streamed: %d requests, %+v, %v", r.asked(), res, err)
		}
	})
}

// givesUp checks that the client does not try again after a permanent failure, or after too many temporary ones.
func givesUp(t *testing.T, a Adapter) {
	for _, status := range []int{400, 401, 403, 404, 413, 422, 501} {
		a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
			r.server.Fail(llmtest.Fault{Status: status})
			if res, _, err := r.stream(request()); res != nil || err == nil || r.asked() != 1 {
				t.Errorf("%d: %d requests, %+v, %v", status, r.asked(), res, err)
			}
		})
	}
	for retries, want := range map[int]int{0: 7, 2: 3, -1: 1} {
		a.play(t, says("ok"), func(c *endpoint.Config) { c.Retries = retries }, func(t *testing.T, r *rig) {
			for range 9 {
				r.server.Fail(llmtest.Fault{Status: 529})
			}
			_, _, err := r.stream(request())
			if !errors.Is(err, llm.ErrOverloaded) || r.asked() != want {
				t.Errorf("%d retries: %d requests, %v", retries, r.asked(), err)
			}
		})
	}
}

// neverAfterOutput checks a stream that breaks after a part of the answer. The client returns that part and does not try again.
// The caller may ask again.
func neverAfterOutput(t *testing.T, a Adapter) {
	for name, fault := range map[string]llmtest.Fault{"cut": {CutAfter: 10}, "error": {ErrorAfter: 10}, "bad": {Bad: "data: {\n\n", BadAfter: 10}} {
		a.play(t, says("one two three four five six seven eight nine ten, and so on, and so on, for long enough to be cut in ten pieces, which are of twenty-four bytes each, so it takes a while until there are enough of them."), nil, func(t *testing.T, r *rig) {
			r.server.Fail(fault)
			res, events, err := r.stream(request())
			if err == nil || r.asked() != 1 {
				t.Fatalf("%s: %d requests, %v", name, r.asked(), err)
			}
			told := ""
			for _, e := range events {
				if e.Kind == llm.TextDelta {
					told += e.Text
				}
				if e.Kind == llm.Stopped || e.Kind == llm.Retrying {
					t.Errorf("%s: told %+v", name, e)
				}
			}
			if res == nil || told == "" || len(res.Message.Parts) != 1 || res.Message.Parts[0].Text != told {
				t.Errorf("%s: told %q, returned %+v", name, told, res)
			}
			if again, err := r.model.Stream(t.Context(), request(), nil); err != nil || again.Stop() != llm.StopDone {
				t.Errorf("%s, asked again: %+v, %v", name, again, err)
			}
		})
	}
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{CutAfter: 1})
		if res, err := r.model.Complete(t.Context(), request()); res != nil || !errors.Is(err, llm.ErrBroken) || r.asked() != 1 {
			t.Errorf("not streamed: %d requests, %+v, %v", r.asked(), res, err)
		}
	})
}

// retryAfter checks that the client waits as long as the endpoint asks. If that is too long, the client returns an error without
// waiting.
func retryAfter(t *testing.T, a Adapter) {
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Status: 429, RetryAfter: 20})
		start := time.Now()
		_, err := r.model.Complete(t.Context(), request())
		if took := since(start); err != nil || took < 20*time.Second || took > 22*time.Second {
			t.Errorf("waited %v for 20 s: %v", took, err)
		}
	})
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Status: 429, RetryAfter: 3600})
		start := time.Now()
		_, err := r.model.Complete(t.Context(), request())
		var told *llm.Error
		if !errors.As(err, &told) || !errors.Is(err, llm.ErrOverloaded) || told.RetryAfter != time.Hour || told.Status != 429 || since(start) > 0 || r.asked() != 1 {
			t.Errorf("waited %v: %v", since(start), err)
		}
	})
}

// cancelled checks that the end of the context ends a request at once.
func cancelled(t *testing.T, a Adapter) {
	for name, fault := range map[string]llmtest.Fault{
		"before the first byte": {Delay: time.Hour}, "in the stream": {Pause: time.Hour}, "in a pause": {Status: 429, RetryAfter: 50},
	} {
		a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
			r.server.Fail(fault)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := r.model.Stream(ctx, request(), nil)
				done <- err
			}()
			time.Sleep(7 * time.Second)
			synctest.Wait()
			start := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrBroken) || since(start) != 0 || r.asked() != 1 {
				t.Errorf("%s: %v after %v", name, err, since(start))
			}
		})
	}
	a.play(t, says("an answer that is interrupted; what has arrived is kept"), nil, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		r.server.Fail(llmtest.Fault{Pause: time.Second})
		told := ""
		res, err := r.model.Stream(ctx, request(), func(e llm.Event) {
			if told += e.Text; told != "" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || res == nil || told == "" || len(res.Message.Parts) != 1 || res.Message.Parts[0].Text != told || r.asked() != 1 {
			t.Errorf("interrupted after %q: %+v, %v", told, res, err)
		}
	})
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r.server.Fail(llmtest.Fault{Delay: time.Hour})
		start := time.Now()
		if _, err := r.model.Complete(ctx, request()); !errors.Is(err, context.DeadlineExceeded) || since(start) != time.Minute {
			t.Errorf("%v after %v", err, since(start))
		}
		cancel()
		if _, err := r.model.Complete(ctx, request()); !errors.Is(err, context.DeadlineExceeded) || r.asked() != 1 {
			t.Errorf("%d requests, %v", r.asked(), err)
		}
	})
}

// silence checks that the client gives up if the endpoint sends nothing for too long. It does not give up if the endpoint is only
// slow.
func silence(t *testing.T, a Adapter) {
	short := func(c *endpoint.Config) { c.Idle, c.Whole, c.Retries = 30*time.Second, 50*time.Second, 1 }
	a.play(t, says("a slow answer"), short, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Pause: 29 * time.Second})
		start := time.Now()
		if _, _, err := r.stream(request()); err != nil || since(start) < 90*time.Second {
			t.Errorf("slow: %v after %v", err, since(start))
		}
	})
	a.play(t, says("a slow answer"), short, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Delay: time.Hour})
		if res, _, err := r.stream(request()); err != nil || res.Stop() != llm.StopDone || r.asked() != 2 {
			t.Errorf("silent once: %d requests, %v", r.asked(), err)
		}
		start := time.Now()
		r.server.Fail(llmtest.Fault{Delay: time.Hour}, llmtest.Fault{Delay: time.Hour})
		if _, err := r.model.Complete(t.Context(), request()); err == nil || since(start) < 100*time.Second || since(start) > 102*time.Second {
			t.Errorf("silent twice: %v after %v", err, since(start))
		}
	})
	a.play(t, says("a slow answer"), short, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Pause: time.Hour})
		start := time.Now()
		if _, _, err := r.stream(request()); err != nil || r.asked() != 2 || since(start) < 30*time.Second || since(start) > 31*time.Second {
			t.Errorf("silent after the first event: %d requests, %v after %v", r.asked(), err, since(start))
		}
	})
	a.play(t, says("an answer that goes on for some time, so that words are told before it is silent"), short, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Pause: time.Hour, PauseAfter: 5})
		start := time.Now()
		res, _, err := r.stream(request())
		if !errors.Is(err, llm.ErrBroken) || res == nil || r.asked() != 1 || since(start) != 30*time.Second {
			t.Errorf("silent after words: %+v, %v after %v", res, err, since(start))
		}
	})
	a.play(t, says("an answer of some length"), short, func(t *testing.T, r *rig) {
		start := time.Now()
		slept := false
		_, err := r.model.Stream(t.Context(), request(), func(llm.Event) {
			if !slept { // the time that the caller's function takes does not count
				time.Sleep(time.Hour)
			}
			slept = true
		})
		if err != nil || since(start) < time.Hour {
			t.Errorf("slow caller: %v after %v", err, since(start))
		}
	})
}
