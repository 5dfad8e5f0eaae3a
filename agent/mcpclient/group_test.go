package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/tool"
)

// open connects to servers. The connections end with the test.
func open(t *testing.T, c Config, servers ...Server) (*Group, *tool.Set, []error) {
	t.Helper()
	c.Environ = os.Environ()
	g := Open(c, servers)
	t.Cleanup(g.Close)
	set, troubles, err := g.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g, set, troubles
}

func names(s *tool.Set) []string {
	var out []string
	for _, s := range s.Specs() {
		out = append(out, s.Name)
	}
	return out
}

// do plans a call and applies the plan.
func do(t *testing.T, ctx context.Context, s *tool.Set, name, args string) tool.Result {
	t.Helper()
	found, ok := s.Get(name)
	if !ok {
		t.Fatalf("there is no %s among %v", name, names(s))
	}
	p, err := found.Plan(ctx, tool.Call{ID: "c", Name: name, Arguments: []byte(args)})
	if err != nil {
		t.Fatal(err)
	}
	if p.Done != nil {
		return *p.Done
	}
	if !p.Has(tool.Outside) || p.Path != "" {
		t.Errorf("%+v is not planned as done outside", p)
	}
	r, err := p.Apply(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var all = []string{
	"mcp__tester__die", "mcp__tester__fail", "mcp__tester__greet", "mcp__tester__mixed", "mcp__tester__tell_me_more", "mcp__tester__wait",
}

// The tools of a real process: their specs, their results and their errors.
func TestCalls(t *testing.T) {
	_, set, troubles := open(t, Config{}, self(t, "server"))
	if len(troubles) != 0 || !slices.Equal(names(set), all) {
		t.Fatal(troubles, names(set))
	}
	greet, _ := set.Get("mcp__tester__greet")
	if s := greet.Spec(); !s.ReadOnly || s.Destructive || s.Description != "does greet" || !strings.Contains(string(s.Schema), `"who"`) {
		t.Errorf("%+v", s)
	}
	more, _ := set.Get("mcp__tester__tell_me_more")
	if s := more.Spec(); s.ReadOnly || s.Destructive {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		name, args string
		code       tool.Code
		want       string
	}{
		{"greet", `{"who":"you"}`, "", "hello you"},
		{"mixed", `{"who":""}`, "", "first\n[an image (image/png, 5 bytes) was returned; it is left out, since only text can be shown]\ninside\n[x:2] a link"},
		{"tell_me_more", `{"who":""}`, "", "(no output)"},
		{"fail", `{"who":""}`, tool.ToolError, "it cannot be done"},
		{"greet", `[]`, tool.InvalidArgument, "The arguments are no JSON object."},
		{"greet", `{"who":`, tool.InvalidArgument, "The arguments are no JSON object."},
	} {
		r := do(t, t.Context(), set, "mcp__tester__"+c.name, c.args)
		if r.Code != c.code || r.Text != c.want || r.CallID != "c" {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if r := do(t, t.Context(), set, "mcp__tester__greet", ""); r.Code != tool.ToolError { // the argument who is required
		t.Errorf("%+v", r)
	}
}

// The plan shows a person exactly the arguments that are sent.
func TestPlanShowsArguments(t *testing.T) {
	_, set, _ := open(t, Config{}, self(t, "server"))
	greet, _ := set.Get("mcp__tester__greet")
	p, err := greet.Plan(t.Context(), tool.Call{Arguments: []byte(`{"who":"a` + "\u202e" + `b"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"who\": \"a\\u202eb\"\n}\n"; p.Diff.Text() != want {
		t.Errorf("%q", p.Diff.Text())
	}
}

// A server that ends is reported, and so is a server that never started. The other servers work.
func TestServerErrors(t *testing.T) {
	broken := self(t, "broken")
	broken.Name = "broken\n"
	g, set, troubles := open(t, Config{}, broken, self(t, "server"), Server{Name: "absent", Command: "/nowhere/at-all"},
		Server{Name: "", URL: "ftp://x"}, Server{Name: "closed", URL: "http://127.0.0.1:1/mcp"},
	)
	if !slices.Equal(names(set), all) {
		t.Error(names(set))
	}
	for i, want := range []string{
		"MCP server broken?: it ended before it was ready (it said: no database at /nowhere)", "MCP server absent: it did not start: ",
		"MCP server without a name: it has neither a command nor a URL of http or https", "MCP server closed: ",
	} {
		if len(troubles) <= i || !strings.HasPrefix(troubles[i].Error(), want) {
			t.Fatalf("%d: want %q, have %v", i, want, troubles)
		}
	}
	for range 2 {
		r := do(t, t.Context(), set, "mcp__tester__die", `{"who":""}`)
		if r.Code != tool.HostUnavailable || !strings.Contains(r.Text, "the MCP server tester has ended (it said: out of luck)") {
			t.Errorf("%+v", r)
		}
		<-g.clients[1].over
	}
}

// The time to wait for a server that does not answer is limited.
func TestServerDoesNotAnswer(t *testing.T) {
	_, set, troubles := open(t, Config{Wait: 100 * time.Millisecond}, self(t, "mute"))
	if len(troubles) != 1 || troubles[0].Error() != "MCP server tester: it was not ready within 100ms" || len(names(set)) != 0 {
		t.Error(troubles, names(set))
	}
}

// A cancelled call ends at once. A call without an answer ends after the time limit.
func TestWaiting(t *testing.T) {
	_, shortLimit, _ := open(t, Config{Call: 50 * time.Millisecond}, self(t, "server"))
	if r := do(t, t.Context(), shortLimit, "mcp__tester__wait", `{"who":""}`); r.Code != tool.Timeout {
		t.Errorf("%+v", r)
	}
	_, set, _ := open(t, Config{}, self(t, "server"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := do(t, ctx, set, "mcp__tester__wait", `{"who":""}`); r.Code != tool.Cancelled {
		t.Errorf("%+v", r)
	}
	if r := do(t, t.Context(), set, "mcp__tester__greet", `{"who":"you"}`); r.Text != "hello you" {
		t.Errorf("%+v", r)
	}
}

// A wait for tools can be cancelled. A group can be closed while it connects.
func TestToolsCancelled(t *testing.T) {
	g := Open(Config{Environ: os.Environ()}, []Server{self(t, "mute")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := g.Tools(ctx); !errors.Is(err, context.Canceled) || g.Ready() {
		t.Error(err)
	}
	g.Close()
	if !g.Ready() {
		t.Error("it is closed, and one could still wait for it")
	}
	g.Close()
}

// Both transports over HTTP work. The headers are sent only to the host of the server.
func TestHTTP(t *testing.T) {
	s := newServer()
	server := func(*http.Request) *mcp.Server { return s }
	var elsewhere []string
	guarded := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer abc" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	mux := http.NewServeMux()
	mux.Handle("/mcp", guarded(mcp.NewStreamableHTTPHandler(server, nil)))
	mux.Handle("/sse", guarded(mcp.NewSSEHandler(server, nil)))
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	here := httptest.NewServer(mux)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		here.CloseClientConnections()
		here.Close()
		other.Close()
	})
	token := http.Header{"authorization": {"Bearer abc"}}
	g, set, troubles := open(t, Config{},
		Server{Name: "new", URL: here.URL + "/mcp", Header: token},
		Server{Name: "old", URL: here.URL + "/sse", Header: token, SSE: true},
		Server{Name: "stranger", URL: here.URL + "/mcp"},
		Server{Name: "moved", URL: here.URL + "/away", Header: token},
	)
	if len(troubles) != 2 || !strings.HasPrefix(troubles[0].Error(), "MCP server stranger: ") || !strings.HasPrefix(troubles[1].Error(), "MCP server moved: ") {
		t.Error(troubles)
	}
	for _, name := range []string{"mcp__new__greet", "mcp__old__greet"} {
		if r := do(t, t.Context(), set, name, `{"who":"you"}`); r.Text != "hello you" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	g.Close()
	if len(elsewhere) == 0 || slices.ContainsFunc(elsewhere, func(s string) bool { return s != "" }) {
		t.Errorf("another host was told %q", elsewhere)
	}
}
