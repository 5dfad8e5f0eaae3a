package modeltest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
)

// failures checks that every failure has the right kind of error.
func failures(t *testing.T, a Adapter) {
	for _, c := range []struct {
		fault llmtest.Fault
		kind  error
		text  string
	}{
		{llmtest.Fault{Status: 401, Message: "invalid x-api-key"}, llm.ErrAuth, "invalid x-api-key"},
		{llmtest.Fault{Status: 402}, llm.ErrAuth, "Payment Required"},
		{llmtest.Fault{Status: 403}, llm.ErrAuth, "Forbidden"},
		{llmtest.Fault{Status: 404, Message: "model: no-such-model"}, llm.ErrInvalid, "no-such-model"},
		{llmtest.Fault{Status: 400, Message: "max_tokens: too many"}, llm.ErrInvalid, "max_tokens: too many"},
		{llmtest.Fault{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}, llm.ErrTooLong, "210000"},
		{llmtest.Fault{Status: 400, Message: "This model's maximum context length is 8192 tokens."}, llm.ErrTooLong, "8192"},
		{llmtest.Fault{Status: 413}, llm.ErrTooLong, "status 413"},
		{llmtest.Fault{Status: 429}, llm.ErrOverloaded, "Too Many Requests"},
		{llmtest.Fault{Status: 503}, llm.ErrOverloaded, "status 503"},
		{llmtest.Fault{Status: 529}, llm.ErrOverloaded, "Overloaded"},
		{llmtest.Fault{Status: 500, Body: "<html><b>broken</b></html>"}, nil, "<html>"},
		{llmtest.Fault{Status: 400, Body: `{"error":"no such thing"}`}, llm.ErrInvalid, "no such thing"},
		{llmtest.Fault{Status: 400, Body: `{"object":"error","message":"bad \u001b[31mthing\nindeed","type":"BadRequestError","code":400}`}, llm.ErrInvalid, "BadRequestError: bad [31mthing indeed"},
		{llmtest.Fault{Status: 400, Body: `{"error":{"message":"too big","type":"x","code":"context_length_exceeded"}}`}, llm.ErrTooLong, "too big"},
		{llmtest.Fault{Status: 429, Body: `{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}`}, llm.ErrAuth, "no credit"},
		{llmtest.Fault{Status: 400, Body: ""}, llm.ErrInvalid, "Bad Request"},
		{llmtest.Fault{ErrorAfter: 1}, nil, "Overloaded"},
	} {
		a.play(t, says("ok"), func(c *endpoint.Config) { c.Retries = -1 }, func(t *testing.T, r *rig) {
			r.server.Fail(c.fault)
			res, _, err := r.stream(request())
			var told *llm.Error
			switch {
			case res != nil || !errors.As(err, &told):
				t.Errorf("%+v: %+v, %v", c.fault, res, err)
			case c.kind != nil && !errors.Is(err, c.kind):
				t.Errorf("%+v is no %v: %v", c.fault, c.kind, err)
			case !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "model.test"):
				t.Errorf("%+v does not say %q: %v", c.fault, c.text, err)
			case told.RequestID != "req_scripted" || told.Status != c.fault.Status:
				t.Errorf("%+v: %+v", c.fault, told)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err)
			}
		})
	}
}

// noKey checks that no error contains the key, although the endpoint's and Go's own errors quote it.
func noKey(t *testing.T, a Adapter) {
	const password, query = "p4ssw0rd-in-the-url", "query-0123456789"
	secret := func(c *endpoint.Config) {
		c.BaseURL = "http://me:" + password + "@model.test?key=" + query
		c.Retries = 2
	}
	check := func(t *testing.T, r *rig, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
		for _, secret := range []string{key, password, query} {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, secret) {
				t.Errorf("the error holds %q: %s", secret, text)
			}
		}
	}
	for _, fault := range []llmtest.Fault{
		{Status: 401, Message: "wrong key " + key}, {Status: 500, Body: "who sent " + key},
		{Reset: true}, {Status: 400, Body: `{"error":"` + key + `"}`}, {Bad: "data: {\"error\":{\"message\":\"" + key + "\",\"code\":\"" + key + "\"}}\n\n"},
	} {
		a.play(t, says("ok"), secret, func(t *testing.T, r *rig) {
			r.server.Fail(fault, fault, fault)
			_, _, err := r.stream(request())
			check(t, r, err)
		})
	}
	a.play(t, says("ok"), secret, func(t *testing.T, r *rig) {
		_ = r.server.Close()
		_, _, err := r.stream(request())
		check(t, r, err)
	})
	for name, change := range map[string]func(*endpoint.Config){
		"key with a line break": func(c *endpoint.Config) { c.Key = key + "\nx" },
		"no URL":                func(c *endpoint.Config) { c.BaseURL = "http://me:" + password + "@[::1" },
		"other scheme":          func(c *endpoint.Config) { c.BaseURL = "ftp://me:" + password + "@model.test" },
		"relative":              func(c *endpoint.Config) { c.BaseURL = "model.test" },
	} {
		a.play(t, says("ok"), change, func(t *testing.T, r *rig) {
			_, _, err := r.stream(request())
			if check(t, r, err); r.asked() != 0 {
				t.Errorf("%s: asked", name)
			}
		})
	}
}

// brokenStreams sends invalid streams, and streams that end early.
func brokenStreams(t *testing.T, a Adapter) {
	for _, bad := range []string{
		"data: {\"type\":\n\n", "data: nothing\n\n", "data: []\n\n", "data: \"\"\n\n", "data: \xff\xfe\n\n",
		"event: x\ndata: {\"type\":\"x\"} {}\n\n",
	} {
		a.play(t, nil, func(c *endpoint.Config) { c.Retries = -1 }, func(t *testing.T, r *rig) {
			r.server.Fail(llmtest.Fault{Bad: bad, BadAfter: 4})
			if _, _, err := r.stream(request()); !errors.Is(err, llm.ErrBroken) {
				t.Errorf("%q: %v", bad, err)
			}
		})
	}
	a.play(t, nil, nil, func(t *testing.T, r *rig) { // other lines than events are ignored
		r.server.Fail(llmtest.Fault{Chunk: 1})
		if _, _, err := r.stream(request()); err != nil {
			t.Error(err)
		}
	})
	whole := false
	for cut := 1; cut < 100 && !whole; cut++ { // at every position: the answer is complete, or an error
		a.play(t, nil, func(c *endpoint.Config) { c.Retries = -1 }, func(t *testing.T, r *rig) {
			r.server.Fail(llmtest.Fault{CutAfter: cut})
			res, told, err := r.stream(request())
			if whole = err == nil; whole {
				checkTold(t, told, res)
				checkFirstTurn(t, res)
				return
			}
			if !errors.Is(err, llm.ErrBroken) {
				t.Errorf("cut after %d: %v", cut, err)
			}
			if res == nil {
				return
			}
			for _, p := range res.Message.Parts {
				if p.Kind == llm.ToolCall && compact(t, p.Args) == "" {
					t.Errorf("cut after %d: a call that is not whole: %+v", cut, p)
				}
			}
		})
	}
	if !whole {
		t.Error("never whole")
	}
}

// connections checks that the next request uses the same connection.
func connections(t *testing.T, a Adapter) {
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		for i := range 6 {
			var err error
			if i%2 == 0 {
				_, err = r.model.Complete(t.Context(), request())
			} else {
				_, err = r.model.Stream(t.Context(), request(), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := r.dials.Load(); n != 1 {
			t.Errorf("%d connections for 6 requests", n)
		}
	})
}

// redirect checks that the key is not sent to the target of a redirect.
func redirect(t *testing.T, a Adapter) {
	a.play(t, says("ok"), nil, func(t *testing.T, r *rig) {
		r.server.Fail(llmtest.Fault{Status: http.StatusTemporaryRedirect, Location: "http://elsewhere.test/v1/messages"})
		if _, _, err := r.stream(request()); err == nil || !strings.Contains(err.Error(), "redirected") || r.asked() != 1 {
			t.Errorf("%d requests, %v", r.asked(), err)
		}
	})
}
