package session_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
)

var update = flag.Bool("update", false, "write what is found into testdata")

// Decode returns every body that Encode has written. The written form is one line of UTF-8 without NUL.
func TestEncodeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := sessiontest.AnyBody().Draw(t, "body")
		raw, err := session.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(raw) || bytes.ContainsAny(raw, "\x00\n") {
			t.Fatalf("not a line of text: %q", raw)
		}
		got, err := session.Decode(session.Event{Body: want}.Kind(), session.Format, raw)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// A session in the format of version 1. The file must not change: every later version must read it.
func TestReadsVersion1(t *testing.T) {
	raw, err := os.ReadFile("testdata/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	read, err := session.ReadJSON(bytes.NewReader(raw))
	if err != nil || read.ID != "0190" {
		t.Fatal(read, err)
	}
	events := read.Events
	want := sessiontest.Bodies()
	want = append(want, session.Message{Role: llm.User, Parts: []llm.Part{{Text: "\xff\x00 ü"}}})
	if len(events) != len(want) {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if e.Seq != uint64(i)+1 || e.Version != 1 || !e.Time.Equal(sessiontest.Start) {
			t.Errorf("event %d: %+v", i, e)
		}
		if d := cmp.Diff(want[i], e.Body); d != "" {
			t.Errorf("event %d: -want +got\n%s", i, d)
		}
	}
}

// Data of a newer version is kept unchanged, and the state says that it is not included.
func TestNewerVersions(t *testing.T) {
	for _, test := range []struct {
		kind    session.Kind
		version int
	}{{"telepathy", 1}, {session.KindMessage, 2}} {
		const raw = `{"what":"ever"}`
		body, err := session.Decode(test.kind, test.version, []byte(raw))
		if err != nil || body != (session.Unknown{Kind: test.kind, JSON: raw}) {
			t.Errorf("%+v, %v", body, err)
		}
		if again, err := session.Encode(body); err != nil || string(again) != raw {
			t.Errorf("%s, %v", again, err)
		}
		st := session.FoldEvents("s", []session.Event{{Seq: 1, Body: session.Opening{}}, {Seq: 2, Version: test.version, Body: body}})
		if len(st.Damaged) != 1 || !strings.Contains(st.Damaged[0].Why, "newer version") || st.Last != 2 {
			t.Errorf("%+v", st)
		}
	}
	// An unknown member is ignored.
	if _, err := session.Decode(session.KindTitle, 1, []byte(`{"title":"x","colour":"red"}`)); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, b := range sessiontest.Bodies() {
		raw, err := session.Encode(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(session.Event{Body: b}.Kind()), raw)
	}
	f.Add("message", []byte(`{"strings":"bytes","role":"ÿĀ"}`))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		body, err := session.Decode(session.Kind(kind), session.Format, raw)
		if err != nil {
			return
		}
		again, err := session.Encode(body)
		if err != nil {
			return // JSON allows this year, but Encode does not write it
		}
		same, err := session.Decode(session.Kind(kind), session.Format, again)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(body, same); d != "" {
			t.Error(d)
		}
	})
}

// An exported session can be read again, and stored in another store, unchanged.
func TestJSON(t *testing.T) {
	var from, to session.Memory
	h, err := session.Create(t.Context(), &from, session.Opening{Dir: "/p"}, sessiontest.Bodies()[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := from.Events(t.Context(), h.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := session.WriteJSON(&out, h.ID(), events); err != nil {
		t.Fatal(err)
	}
	id := h.ID()
	read, err := session.ReadJSON(io.MultiReader(strings.NewReader("\ufeff"), bytes.NewReader(out.Bytes())))
	if err != nil || read.ID != id {
		t.Fatal(read, err)
	}
	if err := session.Restore(t.Context(), &to, read); err != nil {
		t.Fatal(err)
	}
	stored, _, err := to.Events(t.Context(), id, 0)
	if d := cmp.Diff(events, stored); err != nil || d != "" {
		t.Error(err, d)
	}
	if err := session.Restore(t.Context(), &to, read); !errors.Is(err, session.ErrImported) {
		t.Errorf("again: %v", err)
	}

	// Events that were added later are imported. If both sessions have different events at a number, an error says so.
	if err := h.Append(t.Context(), session.Title("later")); err != nil {
		t.Fatal(err)
	}
	events, _, err = from.Events(t.Context(), h.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Restore(t.Context(), &to, session.Exported{ID: id, Events: events}); err != nil {
		t.Error(err)
	}
	stored, _, err = to.Events(t.Context(), id, 0)
	if d := cmp.Diff(events, stored); err != nil || d != "" {
		t.Error(err, d)
	}
	if err := session.Restore(t.Context(), &to, read); !errors.Is(err, session.ErrImported) {
		t.Errorf("an older one: %v", err)
	}
	other := slices.Clone(events)
	other[len(other)-1].Body = session.Title("otherwise")
	if err := session.Restore(t.Context(), &to, session.Exported{ID: id, Events: other}); err == nil || errors.Is(err, session.ErrImported) {
		t.Errorf("another one: %v", err)
	}
}

// What cannot be read ends an export, and the error names the line.
func TestReadDamaged(t *testing.T) {
	events := []session.Event{{Seq: 1, Time: sessiontest.Start, Version: 1, Body: session.Opening{Dir: "/p"}}}
	for n := uint64(2); n <= 4; n++ {
		events = append(events, session.Event{Seq: n, Time: sessiontest.Start, Version: 1, Body: session.Title(fmt.Sprint(n))})
	}
	var out bytes.Buffer
	if err := session.WriteJSON(&out, "a", events); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n") // the ID, the events, and nothing
	for name, test := range map[string]struct {
		text string
		read int
		why  string
	}{
		"cut off":      {out.String()[:out.Len()-9], 3, "line 5: unexpected end of JSON input"},
		"a lost line":  {lines[0] + lines[1] + lines[3] + lines[4], 1, "line 3: it is not event 2 of the session"},
		"a line twice": {lines[0] + lines[1] + lines[2] + lines[2], 2, "line 4: it is not event 3 of the session"},
		"not UTF-8":    {lines[0] + lines[1] + "{\"seq\":2,\"\xff\":1}\n", 1, "line 3: it is not UTF-8"},
		"not JSON":     {lines[0] + "\n\n{]\n", 0, "line 4: "},
		"no event":     {lines[0] + `{"seq":1}`, 0, "line 2: "},
		"no ID":        {`{"stet_session":"a b"}`, 0, `line 1: "a b" is no ID of a session`},
	} {
		x, err := session.ReadJSON(strings.NewReader(test.text))
		if err == nil || errors.Is(err, session.ErrExport) || !strings.HasPrefix(err.Error(), test.why) || len(x.Events) != test.read {
			t.Errorf("%s: %d events, %v", name, len(x.Events), err)
		}
	}
	for _, other := range []string{"", "[]", `{"type":"user"}`, lines[1]} {
		if _, err := session.ReadJSON(strings.NewReader(other)); !errors.Is(err, session.ErrExport) {
			t.Errorf("%q: %v", other, err)
		}
	}
	if err := session.Restore(t.Context(), new(session.Memory), session.Exported{ID: "b"}); err == nil {
		t.Error("a session without events")
	}
}

func TestMarkdown(t *testing.T) {
	at := sessiontest.Start
	var events []session.Event
	for i, b := range []session.Body{
		session.Opening{Dir: "/home/me/project", From: session.Link{Session: "before", Seq: 7, Relation: session.Compacted}},
		session.Title("Plant\x1b[31m beans"),
		sessiontest.Text(llm.User, "Plant the beans.\n```\nnow\n```\n"),
		sessiontest.Bodies()[1],
		session.Message{
			Role: llm.Assistant, Model: "model-a", Usage: &llm.Usage{Input: 10, CacheRead: 90, Output: 5},
			Parts: []llm.Part{
				{Kind: llm.Thinking, Text: "where\nto begin"},
				{Text: "I look."},
				{Kind: llm.ToolCall, CallID: "call_1", Name: "read_file", Args: `{"path":"beds.md"}`},
			},
		},
		session.Message{Role: llm.Tool, Parts: []llm.Part{
			{Kind: llm.ToolResult, CallID: "call_1", Text: "# Beds\r\n```\nbed 1\n```\x07\xff", IsError: true}, {Kind: llm.Opaque, Raw: "{}"},
		}},
		sessiontest.Text(llm.User, "never mind"),
		session.Rewind{To: 6},
	} {
		events = append(events, session.Event{Seq: uint64(i) + 1, Time: at.Add(time.Duration(i) * time.Minute), Body: b})
	}
	var out bytes.Buffer
	if err := session.WriteMarkdown(&out, session.FoldEvents("here", events)); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/markdown.md", out.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
