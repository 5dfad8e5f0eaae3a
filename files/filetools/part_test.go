package filetools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// While a read waits for a person, it has shown nothing: until its result is delivered the file counts as unread. (CTX-6, TRK-12)
func TestReadCountsWhenDelivered(t *testing.T) {
	for _, dedupe := range []*Dedupe{nil, {}} {
		b := newBench(t, Config{Dedupe: dedupe}, workspace.Options{})
		b.put("a", "one\n")
		var before, other bool
		h := &approval.Handler{
			Tools: &b.set, Rate: -1,
			Policy: &policy.Policy{Rules: []policy.Rule{{Tools: patterns(t, "Read", "read_file"), Do: policy.Ask}}},
			Approver: person(func(q approval.Question) approval.Answer {
				before = b.tools.Tracker("one").HasBeenRead("a")
				other = b.plan("write_file", args("path", "a", "content", "x\n")).Has(tool.Unread)
				return approval.Answer{Verdict: approval.Approve}
			}),
		}
		for _, name := range []string{"Read", "read_file"} {
			r, err := h.Call(t.Context(), tool.Call{Session: "one", Name: name, Arguments: json.RawMessage(`{"path":"a"}`)})
			if err != nil || r.Failed() {
				t.Fatalf("%+v %v", r, err)
			}
			if name == "Read" && (before || !other) {
				t.Error("it counts as read while a person is asked")
			}
		}
		if n := b.tools.Tracker("one").ReadCount("a"); n != 2 {
			t.Errorf("%d reads are counted", n)
		}
	}
}

// If only a part of a file was read and no person can be asked, the file is not overwritten. The error says what to do, and that
// works. (FILE-15, hazards)
func TestOverwriteOfWhatWasReadInPart(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "one\ntwo\nthree\n")
	h := &approval.Handler{Tools: &b.set, Rate: -1, Policy: &policy.Policy{Unattended: true}}
	call := func(name, args string) tool.Result {
		t.Helper()
		r, err := h.Call(t.Context(), tool.Call{Session: "one", Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	write := func() tool.Result { t.Helper(); return call("write_file", `{"path":"a","content":"new\n"}`) }
	call("Read", `{"path":"a","limit":1}`)
	if r := write(); r.Code != tool.PermissionDenied || !strings.Contains(r.Text, "read all of it first") || !strings.Contains(r.Text, "edit_file") {
		t.Errorf("%+v", r)
	}
	if r := call("edit_file", `{"path":"a","edits":[{"old_text":"one","new_text":"1"}]}`); r.Failed() {
		t.Errorf("%+v", r)
	}
	if r := write(); r.Code != tool.PermissionDenied {
		t.Errorf("an edit makes the rest known: %+v", r)
	}
	call("read_file", `{"path":"a"}`)
	if r := write(); r.Failed() || b.get("a") != "new\n" {
		t.Errorf("%+v", r)
	}
	// If a person is asked, the question has a warning.
	b.put("b", "one\ntwo\n")
	var warnings []string
	asking := &approval.Handler{Tools: &b.set, Rate: -1, Approver: person(func(q approval.Question) approval.Answer {
		warnings = q.Warnings
		return approval.Answer{Verdict: approval.Approve}
	})}
	for _, c := range [][2]string{{"Read", `{"path":"b","start_line":2}`}, {"write_file", `{"path":"b","content":"new\n"}`}} {
		if r, err := asking.Call(t.Context(), tool.Call{Session: "one", Name: c[0], Arguments: json.RawMessage(c[1])}); err != nil || r.Failed() {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "only a part of this file") {
		t.Errorf("%q", warnings)
	}
}

// If a result says that a file is gone, the session knows that. It does not while a person is still asked. (FILE-15)
func TestRemovedMeanwhile(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "one\n")
	b.op("read_file", `{"path":"a"}`)
	b.other("rm a")
	p := b.plan("write_file", `{"path":"a","content":"new\n"}`)
	if p.Done == nil || p.Done.Code != tool.ConcurrentModification {
		t.Fatalf("%+v", p)
	}
	if p := b.plan("write_file", `{"path":"a","content":"new\n"}`); p.Done == nil {
		t.Error("no person was told, and it is written")
	}
	p.Result()
	if p := b.plan("write_file", `{"path":"a","content":"new\n"}`); p.Done != nil {
		t.Errorf("%+v", p.Done)
	}
}

// A part of a file has a limited size and says where the file goes on. All parts together are the file. (FILE-8)
func TestPartIsBounded(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for name, text := range map[string]string{
		"long":  strings.Repeat(strings.Repeat("x", 99)+"\r\n", 25_000),
		"short": strings.Repeat("\n", 120_000),
	} {
		b.put(name, text)
		var all strings.Builder
		parts := 0
		for next := 1; next > 0; parts++ {
			o := b.op("read_file", args("path", name, "start_line", next, "end_line", 1_000_000))
			if len(o.text()) > maxPart || *o.LinesRead > maxPartLines || *o.LinesRead == 0 {
				t.Fatalf("%s: %d bytes, %d lines", name, len(o.text()), *o.LinesRead)
			}
			all.WriteString(o.text())
			n, _ := o.Data["next_line"].(float64)
			next = int(n)
		}
		if all.String() != text || parts != 3 {
			t.Errorf("%s: %d parts do not make the file", name, parts)
		}
	}
}

// An optional argument that is null counts as missing, because models send null. (FILE-1)
func TestNullIsNotGiven(t *testing.T) {
	whole := map[string]string{"path": `"a"`, "content": `"x"`, "pattern": `"x"`, "edits": `[{"old_text":"x","new_text":"y","all":null}]`}
	n := 0
	for _, k := range tools {
		var all []string
		for _, p := range k.params {
			if p.required {
				all = append(all, fmt.Sprintf("%q:%s", p.name, whole[p.name]))
				continue
			}
			n++
			all = append(all, fmt.Sprintf("%q:null", p.name))
		}
		v, err := k.params.parse(json.RawMessage("{" + strings.Join(all, ",") + "}"))
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		for _, p := range k.params {
			if v.has(p.name) != p.required {
				t.Errorf("%s: %s was given: %v", k.name, p.name, v.has(p.name))
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d optional arguments", n)
	}
}

// The error of a call that failed inside the root names the file. (READ-5)
func TestResolvedInErrors(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("dir/bin", "a\x00")
	b.put("dir/a", "one\n")
	b.other("ln link dir")
	b.other("ln away /etc")
	for _, c := range []struct {
		path string
		line int
		code string
		want string
	}{
		{"link", 1, "IS_DIRECTORY", "dir"}, {"link/bin", 1, "BINARY_FILE", "dir/bin"}, {"link/a", 2, "INVALID_PARAM", "dir/a"},
		{"link/none", 1, "NOT_FOUND", ""}, {"away", 1, "ACCESS_DENIED", ""}, {"link/a", 0, "INVALID_PARAM", ""},
	} {
		if r := b.read("path", c.path, "start_line", c.line); r.Error == nil || r.Error.Code != c.code || r.Context.Resolved != c.want {
			t.Errorf("%s %d: %+v", c.path, c.line, r)
		}
	}
}

// A file that the agent has read or edited with its own tools counts as read. A change that somebody else made after that is noticed. The same reads may
// be reported again with each call. (GRD-3)
func TestSeenElsewhere(t *testing.T) {
	version := func(text string) workspace.Version { return workspace.VersionOf([]byte(text)) }
	var seen []freshness.Observation
	var b *bench
	for name, c := range map[string]struct {
		script string // R: a read with another tool, P: of the first line, E: an edit, W: a write, D: a removal; r, w: with stet's tools; s: by somebody else
		want   string
	}{
		"never": {"", "unread"}, "read": {"R", ""}, "a part": {"P", "part_read"}, "both parts": {"PR", ""}, "edited": {"RE", ""}, "edited twice": {"REE", ""}, "edited unread": {"E", "part_read"},
		"written": {"W", ""}, "a part edited": {"PE", "part_read"}, "stet read": {"rE", ""}, "stet read and wrote": {"rwE", ""}, "then stet": {"REwE", ""}, "read again": {"RErR", ""},
		"changed since": {"Rs", "concurrent_modification"}, "changed and read": {"RsR", ""}, "changed since the edit": {"REs", "concurrent_modification"}, "removed": {"RDs", "unread"}, "stale": {"rs", "merged"},
	} {
		t.Run(name, func(t *testing.T) {
			seen = nil
			b = newBench(t, Config{Elsewhere: func(_ context.Context, c tool.Call, file string) []freshness.Observation {
				if c.Name != "write_file" || file != filepath.Join(b.root.Dir(), "a") {
					t.Error(c, file)
				}
				return slices.Clone(seen)
			}}, workspace.Options{})
			text := "1\n2\n"
			b.put("a", text)
			for i, what := range c.script {
				o := freshness.Observation{Kind: freshness.Read, Version: version(text), Time: time.Now()}
				switch what {
				case 'r':
					b.op("read_file", `{"path":"a"}`)
				case 'w':
					text = fmt.Sprint("w", i, "\n2\n")
					if o := b.op("write_file", args("path", "a", "content", text)); !o.Success {
						t.Fatal(o)
					}
				case 'P':
					o.Lines = freshness.Range{First: 1, Last: 1}
				case 'E', 'W', 's':
					before := version(text)
					text = fmt.Sprint("x", i, "\n2\n")
					b.put("a", text)
					o = freshness.Observation{Kind: freshness.Edited, Version: version(text), From: before, Part: what == 'E', Time: time.Now()}
				case 'D':
					o = freshness.Observation{Kind: freshness.Edited, Gone: true, Time: time.Now()}
				}
				if strings.ContainsRune("RPEWD", what) {
					seen = append(seen, o)
				}
			}
			p, got := b.plan("write_file", args("path", "a", "content", text+"new\n")), ""
			for _, n := range []tool.Note{tool.Unread, tool.PartRead, tool.Stale, tool.Merged} {
				if p.Has(n) {
					got += string(n)
				}
			}
			if p.Done != nil {
				got = string(p.Result().Code)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
