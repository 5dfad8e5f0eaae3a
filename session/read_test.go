package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// exportedLines returns the lines of an export: the ID of the session, the opening, and messages with the texts m2 to m8.
func exportedLines(t *testing.T, id string) []string {
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	events := []session.Event{{Seq: 1, Time: at, Version: 1, Body: session.Opening{Dir: "/" + id}}}
	for n := uint64(2); n <= 8; n++ {
		m := session.Message{Role: llm.User, Parts: []llm.Part{{Text: fmt.Sprintf(`m%d {"seq":9} ü`, n)}}}
		events = append(events, session.Event{Seq: n, Time: at, Version: 1, Body: m})
	}
	var out bytes.Buffer
	if err := session.WriteJSON(&out, id, events); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// A line that is damaged, missing, doubled or moved costs itself alone.
func TestReadDamaged(t *testing.T) {
	lines, other := exportedLines(t, "a"), exportedLines(t, "b")
	with := func(at int, put ...string) string { // put in place of a line
		return strings.Join(slices.Replace(slices.Clone(lines), at, at+1, put...), "")
	}
	whole, long := strings.Join(lines, ""), strings.Repeat("x", 2<<20)
	l := lines[4] // event 4 is in the fifth line
	for name, test := range map[string]struct{ text, want string }{
		"whole":              {whole, "a 12345678"},
		"empty line":         {with(4, "\n", " \t\n", l), "a 12345678"},
		"half a line":        {with(4, l[:len(l)/2]+"\n"), "a 1235678 lost 5"},
		"glued to the next":  {with(4, l[:len(l)/2]), "a 1235678 lost 5"},
		"no break":           {strings.ReplaceAll(whole, "\n", ""), "a 12345678"},
		"cut at the end":     {whole[:len(whole)-20], "a 1234567 lost 9"},
		"removed":            {with(4), "a 1235678"},
		"doubled":            {with(4, l, l), "a 12345678 twice 6"},
		"doubled far away":   {whole + "\n" + l, "a 12345678 twice 10"},
		"two of one number":  {with(4, l, strings.Replace(l, "m4", "mx", 1)), "a 12345678 lost 6"},
		"swapped":            {strings.Join(lines[:4], "") + lines[5] + l + strings.Join(lines[6:], ""), "a 12345678"},
		"last ones swapped":  {strings.Join(lines[:7], "") + lines[8] + "\n" + lines[7], "a 12345678"},
		"backwards":          {lines[0] + lines[8] + "\n" + lines[7] + lines[6] + lines[5] + l + lines[3] + lines[2] + lines[1], "a 12345678"},
		"number too great":   {with(4, strings.Replace(l, `"seq":4`, `"seq":400`, 1)), "a 1235678 lost 5"},
		"number far too":     {with(4, strings.Replace(l, `"seq":4`, `"seq":18446744073709551615`, 1)), "a 1235678 lost 5"},
		"number too small":   {with(4, strings.Replace(l, `"seq":4`, `"seq":2`, 1)), "a 1235678 lost 5"},
		"number 0":           {with(4, strings.Replace(l, `"seq":4`, `"seq":0`, 1)), "a 1235678 lost 5"},
		"a number with sign": {with(4, strings.Replace(l, `"seq":4`, `"seq":-4`, 1)), "a 1235678 lost 5"},
		"unknown kind":       {with(4, strings.Replace(l, `"message"`, `"telepathy"`, 1)), "a 1235678 lost 5"},
		"no kind":            {with(4, strings.Replace(l, `"message"`, `""`, 1)), "a 1235678 lost 5"},
		"newer version":      {with(4, strings.Replace(l, `"version":1`, `"version":7`, 1)), "a 1235678 lost 5"},
		"second opening":     {with(4, strings.Replace(l, `"message"`, `"opening"`, 1)), "a 1235678 lost 5"},
		"rewind to later":    {with(4, `{"seq":4,"time":"2026-01-05T10:00:00Z","kind":"rewind","version":1,"body":{"to":5}}`+"\n"), "a 1235678 lost 5"},
		"no body":            {with(4, `{"seq":4,"time":"2026-01-05T10:00:00Z","kind":"message","version":1,"body":null}`+"\n"), "a 1235678 lost 5"},
		"a year too late":    {with(4, strings.Replace(l, `"role"`, `"time":"9999-12-31T23:59:59-12:00","role"`, 1)), "a 1235678 lost 5"},
		"other JSON":         {with(4, `{"type":"user"}`+"\n", "[]\n", "null\n", l), "a 12345678 lost 5 lost 6 lost 7"},
		"invalid UTF-8":      {with(4, strings.Replace(l, "ü", "\xfc", 1)), "a 1235678 lost 5"},
		"byte order mark":    {"\ufeff" + whole, "a 12345678"},
		"CR LF":              {strings.ReplaceAll(whole, "\n", "\r\n"), "a 12345678"},
		"NUL in front":       {with(4, strings.Repeat("\x00", 4096)+l), "a 12345678"},
		"NUL for a line":     {with(4, strings.Repeat("\x00", len(l)-1)+"\n"), "a 1235678 lost 5"},
		"2 MB for a line":    {with(4, long+"\n"), "a 1235678 lost 5"},
		"2 MB in a string":   {with(4, strings.Replace(l, "ü", long, 1)), "a 12345678"},
		"first line missing": {with(0), "found-… 12345678 lost 1"},
		"first line damaged": {with(0, lines[0][3:]), "found-… 12345678 lost 1 lost 2"},
		"odd ID":             {with(0, `{"stet_session":"x\u001b[2J"}`+"\n"), "found-… 12345678 lost 1 lost 2"},
		"text before":        {"exported today\n" + whole, "a 12345678 lost 1"},
		"two files":          {whole + "\n" + strings.Join(other, ""), "a 12345678, b 12345678"},
		"two without break":  {whole + "\ufeff" + strings.Join(other, ""), "a 12345678, b 12345678"},
		"the same twice":     {whole + "\n" + whole, "a 12345678 twice 11 twice 12 twice 13 twice 14 twice 15 twice 16 twice 17 twice 18"},
		"a cut one first":    {whole[:len(whole)-20] + strings.Join(other, ""), "a 1234567 lost 9, b 12345678"},
		"second ID missing":  {whole + "\n" + strings.Join(other[1:], ""), "a 12345678, found-… 12345678 lost 10"},
		"only the ID":        {lines[0], "a "},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := session.ReadJSON(strings.NewReader(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range read {
				s := x.ID[:min(len(x.ID), len("found-"))]
				if s != x.ID {
					s += "…"
				}
				s += " "
				for _, e := range x.Events {
					s += fmt.Sprint(e.Seq)
					if m, ok := e.Body.(session.Message); ok && !strings.HasPrefix(m.Parts[0].Text, fmt.Sprintf("m%d ", e.Seq)) {
						t.Errorf("event %d: %.20s", e.Seq, m.Parts[0].Text)
					}
				}
				for _, l := range x.Skipped {
					s += map[bool]string{true: " lost ", false: " twice "}[l.Lost] + fmt.Sprint(l.Line)
				}
				got = append(got, s)
				if len(x.Events) == 0 {
					continue
				}
				var store session.Memory
				if last, err := session.Restore(t.Context(), &store, x); err != nil || last != x.Events[len(x.Events)-1].Seq {
					t.Errorf("stored: %d, %v", last, err)
				}
			}
			if s := strings.Join(got, ", "); s != test.want {
				t.Errorf("have %s, want %s", s, test.want)
			}
		})
	}
	for _, s := range []string{"", "{}", "notes\n", `{"type":"user"}`, `{"stet_session":"x\u001b[2J"}`, strings.Repeat("no\n", 2000) + whole} {
		if _, err := session.ReadJSON(strings.NewReader(s)); !errors.Is(err, session.ErrExport) {
			t.Errorf("%.20q: %v", s, err)
		}
	}
	if _, err := session.ReadJSON(&failing{}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// A line over 256 MB is passed over.
func TestReadTooLong(t *testing.T) {
	lines := exportedLines(t, "a")
	read, err := session.ReadJSON(io.MultiReader(strings.NewReader(strings.Join(lines[:4], "")), io.LimitReader(endless{}, 300<<20),
		strings.NewReader("\n"+strings.Join(lines[5:], ""))))
	if err != nil || len(read) != 1 || len(read[0].Events) != 7 || len(read[0].Skipped) != 1 || !strings.Contains(read[0].Skipped[0].Why, "256 MB") {
		t.Errorf("%+v, %v", read, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

var errDisk = errors.New("disk error")

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errDisk }

// What is missing in an export costs nothing where the session is whole.
func TestRestoreDamaged(t *testing.T) {
	lines := exportedLines(t, "a")
	read := func(s string) session.Exported {
		all, err := session.ReadJSON(strings.NewReader(s))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	var store session.Memory
	if _, err := session.Restore(t.Context(), &store, read(strings.Join(lines[:8], ""))); err != nil {
		t.Fatal(err)
	}
	damaged := read(strings.Join(slices.Delete(slices.Clone(lines), 4, 5), ""))
	if _, err := session.Restore(t.Context(), &store, damaged); err != nil {
		t.Fatal(err)
	}
	if events, _, err := store.Events(t.Context(), "a", 0); err != nil || len(events) != 8 || !strings.HasPrefix(events[3].Body.(session.Message).Parts[0].Text, "m4") {
		t.Error(events, err)
	}
	if _, err := session.Restore(t.Context(), &store, session.Exported{ID: "b"}); err == nil {
		t.Error("stored without events")
	}
}
