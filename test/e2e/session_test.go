package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// mark is the beginning of every placeholder.
const mark = "[stet: "

// TestAgents runs the same session of each agent three times: directly with the model, under "stet wrap", and through "stet proxy
// --policy off". The agent must behave the same each time, with the same exit codes, turns and diff, and its own history must not
// change. The model must see placeholders exactly in the right places (TRIM-1, TRIM-4, TRIM-16).
func TestAgents(t *testing.T) {
	need(t)
	for _, a := range agents {
		t.Run(a.name+"/"+a.wire, func(t *testing.T) {
			a.skip(t)
			t.Parallel()
			straight := straight(t, a)
			exit, turns := []int{0, 0}, len(script("").Turns)
			if a.command("", "", true) == nil {
				exit, turns = []int{0}, turnLast
			}
			if !slices.Equal(straight.exit, exit) || len(straight.turns()) != turns {
				t.Fatalf("exit codes %v after %d turns:\n%s", straight.exit, len(straight.turns()), straight.output)
			}
			for _, r := range straight.requests {
				if r.Wire != "" && r.Wire != a.wire {
					t.Errorf("the agent speaks %s, not %s", r.Wire, a.wire)
				}
			}
			wrapped := wrapped(t, a)
			same(t, straight, wrapped)
			placeholders(t, straight, wrapped)
			stored(t, straight, wrapped)

			var tap *tap
			off := session(t, a, proxyOff(&tap))
			same(t, straight, off)
			untouched(t, tap.all(), off.requests)
		})
	}
}

// same checks that the agent behaved the same with stet as without.
func same(t *testing.T, straight, with outcome) {
	t.Helper()
	if !slices.Equal(straight.exit, with.exit) {
		t.Errorf("exit codes %v, with stet %v:\n%s", straight.exit, with.exit, with.output)
	}
	if a, b := steps(straight), steps(with); !slices.Equal(a, b) {
		t.Errorf("turns %v, with stet %v:\n%s", a, b, with.output)
	}
	if straight.diff != with.diff {
		t.Errorf("diff\n%s\nwith stet\n%s", straight.diff, with.diff)
	}
}

func steps(o outcome) []int {
	var out []int
	for _, r := range o.turns() {
		out = append(out, r.Step)
	}
	return out
}

// result returns the result of the call of turn n in req.
func result(req *llm.Request, n int) string {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResult && strings.HasSuffix(p.CallID, fmt.Sprintf("_s%02dc0", n)) {
				return p.Text
			}
		}
	}
	return ""
}

// placeholders checks what the model saw in the last request. It also checks that every request before showed the same, including
// those of the earlier process.
func placeholders(t *testing.T, straight, wrapped outcome) {
	t.Helper()
	if t.Failed() {
		return // the two runs cannot be compared
	}
	before, after := straight.turns(), wrapped.turns()
	last := len(after) - 1
	full, seen := before[last].Decoded, after[last].Decoded
	count := 0
	for n := range before {
		was, is := result(full, n), result(seen, n)
		short := strings.Contains(is, mark)
		if short {
			count++
			if strings.Contains(is, marker) {
				t.Errorf("turn %d: a placeholder beside the text it stands for: %s", n, is)
			}
		}
		whole := strings.Contains(was, marker) // otherwise the agent itself has shortened the text
		switch {
		case strings.Contains(was, mark):
			t.Errorf("turn %d: a placeholder without stet", n)
		case n == turnFirst && short:
			t.Errorf("the first read is gone: %s", is)
		case (n == turnAgain || n == turnRange) && whole && !short:
			t.Errorf("turn %d: the repeated read is sent in full", n)
		case n == turnInsists && whole && short:
			t.Errorf("the model insisted and got: %s", is)
		case !short && !sameText(was, is):
			t.Errorf("turn %d: changed without a placeholder:\n%s\nbecame\n%s", n, was, is)
		}
		for _, r := range after[n+1:] {
			if got := result(r.Decoded, n); got != is {
				t.Errorf("turn %d is not sent the same way each time:\n%s\nbecame\n%s", n, got, is)
				break
			}
		}
	}
	if count == 0 {
		t.Error("nothing was left out")
	}
	t.Logf("%d results left out; the last request has %d bytes, without stet %d", count, len(after[last].Body), len(before[last].Body))
}

// sameText compares results of two runs. Only short lines may differ: they have times, ids, and the name of the temporary
// directory.
func sameText(a, b string) bool {
	return strings.Count(a, "\n") == strings.Count(b, "\n") && strings.Contains(a, marker) == strings.Contains(b, marker)
}

// stored checks that the agent's own files contain no placeholder, and contain the text as often as without stet (TRIM-1).
func stored(t *testing.T, straight, wrapped outcome) {
	t.Helper()
	want, _ := occurrences(t, straight.home)
	have, marks := occurrences(t, wrapped.home)
	if len(marks) > 0 {
		t.Errorf("placeholders in the agent's own files: %v", marks)
	}
	sent := 0
	for n := range script("").Turns {
		if strings.Contains(result(straight.turns()[len(straight.turns())-1].Decoded, n), marker) {
			sent++
		}
	}
	if want < sent || have < sent {
		t.Errorf("the agent sent the text %d times, and keeps it %d times without stet and %d times with", sent, want, have)
	}
}

// occurrences counts how often the agent's files contain the text, and lists the files with a placeholder. It skips stet's own
// files.
func occurrences(t *testing.T, home string) (count int, marked []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/stet/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		count += bytes.Count(data, []byte(marker))
		if bytes.Contains(data, []byte(mark)) {
			marked = append(marked, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count, marked
}

// untouched checks that the model received what the agent sent.
func untouched(t *testing.T, sent []llmtest.Request, received []llmtest.Request) {
	t.Helper()
	if len(sent) != len(received) {
		t.Fatalf("the agent sent %d requests, the model received %d", len(sent), len(received))
	}
	// Two requests that are sent at the same time may arrive in another order.
	for _, s := range sent {
		i := slices.IndexFunc(received, func(r llmtest.Request) bool {
			return s.Method == r.Method && s.Path == r.Path && s.Query == r.Query && bytes.Equal(s.Body, r.Body)
		})
		if i < 0 {
			t.Errorf("%s %s of %d bytes did not arrive as it was", s.Method, s.Path, len(s.Body))
			continue
		}
		for name, values := range s.Header {
			if !hopByHop[name] && !slices.Equal(values, received[i].Header[name]) {
				t.Errorf("header %s: %q became %q", name, values, received[i].Header[name])
			}
		}
		received = slices.Delete(received, i, i+1)
	}
}

// hopByHop are headers that belong to one connection, or that a proxy sets itself.
var hopByHop = map[string]bool{"Connection": true, "Keep-Alive": true, "Accept-Encoding": true, "X-Forwarded-For": true}
