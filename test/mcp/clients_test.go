package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// report is the output of client.mjs.
type report struct {
	Server, Token      string
	Tools, Asked       []string
	Echo, Error        struct{ result }
	Approved, Declined result
	Pending, Awaited   result
	Progress           int
	Cancelled          bool
}

type result struct {
	Failed, Success bool
	Content         string
	Error           any // a string; the error of Read is an object
	Pending         string
	Needs           bool `json:"needs_confirmation"`
}

func (r result) is(code string) bool {
	s, ok := r.Error.(string)
	return ok && strings.HasPrefix(s, code+": ")
}

// Both generations of the JavaScript SDK work, over both transports. The newest one also works in the newest revision.
func TestClients(t *testing.T) {
	modules := packages.Need(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(envServe, "1")
	script, err := filepath.Abs("client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	url := serveHTTP(t, false)
	for _, c := range []struct{ generation, revision string }{
		{"sdk", "legacy"}, {"client", "legacy"}, {"client", "2026-07-28"},
	} {
		for _, target := range [][]string{{self}, {url, token}} {
			transport := []string{"stdio", "http"}[len(target)-1]
			t.Run(c.generation+"/"+c.revision+"/"+transport, func(t *testing.T) {
				out, err := node(t, script, append([]string{modules, c.generation, c.revision}, target...)...)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				var r report
				if err := json.Unmarshal([]byte(out), &r); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if r.Server != "stet" || len(r.Tools) != 14 {
					t.Errorf("server %s, tools %v", r.Server, r.Tools)
				}
				if r.Echo.Content != "é\x00\u2028日本 🌱" || !r.Echo.Success || r.Echo.Failed {
					t.Errorf("echo: %+v", r.Echo)
				}
				if !r.Error.Failed || !r.Error.is("file_not_found") {
					t.Errorf("error: %+v", r.Error)
				}
				if !r.Approved.Success || r.Approved.Failed {
					t.Errorf("approved: %+v", r.Approved)
				}
				if !r.Declined.Failed {
					t.Errorf("declined: %+v", r.Declined)
				}
				if len(r.Asked) != 2 || !strings.Contains(r.Asked[0], "write wants to write notes.txt ") {
					t.Errorf("asked: %q", r.Asked)
				}
				if r.Progress < 3 || !r.Cancelled {
					t.Errorf("%d times progress, cancelled: %v", r.Progress, r.Cancelled)
				}
				if p := r.Pending; p.Failed || p.Success || !p.Needs || p.Pending == "" {
					t.Errorf("pending: %+v", p)
				}
				if !r.Awaited.Success || r.Awaited.Failed {
					t.Errorf("awaited: %+v", r.Awaited)
				}
			})
		}
	}
}

// The inspector works, from its command line.
func TestInspector(t *testing.T) {
	packages.Need(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url := serveHTTP(t, false)
	for name, target := range map[string][]string{
		"stdio": {self, "-e", envServe + "=1"},
		"http":  {"--transport", "http", "--server-url", url, "--header", "Authorization: Bearer " + token},
	} {
		t.Run(name, func(t *testing.T) {
			inspect := func(args ...string) string {
				out, err := node(t, filepath.Join(".bin", "mcp-inspector"), append(append([]string{"--cli"}, target...), args...)...)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return out
			}
			var list struct {
				Tools []struct {
					Name        string
					Annotations struct{ ReadOnlyHint, DestructiveHint bool }
				}
			}
			if err := json.Unmarshal([]byte(inspect("--method", "tools/list")), &list); err != nil {
				t.Fatal(err)
			}
			hints := map[string][2]bool{}
			for _, x := range list.Tools {
				hints[x.Name] = [2]bool{x.Annotations.ReadOnlyHint, x.Annotations.DestructiveHint}
			}
			if len(hints) != 14 || hints["echo"] != [2]bool{true, false} || hints["write"] != [2]bool{false, true} {
				t.Errorf("tools: %v", hints)
			}
			var called struct {
				Content []struct{ Type, Text string }
				IsError bool
			}
			out := inspect("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hello")
			if err := json.Unmarshal([]byte(out), &called); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if len(called.Content) != 1 || called.Content[0].Text != `{"content":"hello","success":true}` || called.IsError {
				t.Errorf("call: %+v", called)
			}
		})
	}
	t.Run("no token", func(t *testing.T) {
		out, err := node(t, filepath.Join(".bin", "mcp-inspector"), "--cli", "--transport", "http", "--server-url", url, "--method", "tools/list")
		if err == nil || !strings.Contains(out, "auth_required") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
