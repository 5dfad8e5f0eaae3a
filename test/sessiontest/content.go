package sessiontest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// AnyString draws a string of any bytes: valid and invalid UTF-8, NUL, quotes, and halves of surrogate pairs.
func AnyString() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "\x00", "\xff", "\xed\xa0\x80", "\ufffd", "\u2028", `\u0000`, `"`, "</script>", "\r\n", "a\x80\x00b", "Ā\xc4"}),
	)
}

// AnyMessage draws a message with any content.
func AnyMessage() *rapid.Generator[session.Message] {
	count := rapid.IntRange(0, 1<<40)
	part := rapid.Custom(func(t *rapid.T) llm.Part {
		return llm.Part{
			Kind: llm.Kind(rapid.IntRange(0, int(llm.Opaque)).Draw(t, "kind")),
			Text: AnyString().Draw(t, "text"), CallID: AnyString().Draw(t, "call"), Name: AnyString().Draw(t, "name"),
			Args: AnyString().Draw(t, "args"), Raw: AnyString().Draw(t, "raw"), IsError: rapid.Bool().Draw(t, "error"),
		}
	})
	return rapid.Custom(func(t *rapid.T) session.Message {
		m := session.Message{
			Role: llm.Role(AnyString().Draw(t, "role")), ID: AnyString().Draw(t, "id"), Model: AnyString().Draw(t, "model"),
			Local: rapid.Bool().Draw(t, "local"),
		}
		if parts := rapid.SliceOfN(part, 0, 4).Draw(t, "parts"); len(parts) > 0 {
			m.Parts = parts
		}
		if rapid.Bool().Draw(t, "timed") {
			m.Time = time.Unix(rapid.Int64Range(-1<<35, 1<<37).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		}
		if rapid.Bool().Draw(t, "used") {
			m.Usage = &llm.Usage{
				Input: count.Draw(t, "in"), CacheRead: count.Draw(t, "read"), CacheWrite: count.Draw(t, "write"),
				CacheWrite1h: count.Draw(t, "hour"), Output: count.Draw(t, "out"), Reasoning: count.Draw(t, "think"),
			}
		}
		return m
	})
}

// AnyBody draws any body that can follow an opening, except a rewind and a compaction.
func AnyBody() *rapid.Generator[session.Body] {
	return rapid.Custom(func(t *rapid.T) session.Body {
		s := func(name string) string { return AnyString().Draw(t, name) }
		switch rapid.IntRange(0, 7).Draw(t, "body") {
		case 0:
			return session.Title(s("title"))
		case 1:
			return session.Usage{Model: s("model"), Used: llm.Usage{Input: rapid.Int().Draw(t, "n")}}
		case 2:
			return session.Approval{CallID: s("call"), Tool: s("tool"), Path: s("path"), Decision: s("decision"), By: s("by"), Grant: s("grant"), Words: s("words")}
		case 3:
			return session.File{Kind: freshness.Kind(s("kind")), Path: s("path"), Version: workspace.Version(s("version")), Time: Start}
		}
		return AnyMessage().Draw(t, "message")
	})
}

// Every byte of a message is preserved.
func anyBytes(t *testing.T, s session.Store) {
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		id := fmt.Sprintf("s%d", n)
		bodies := rapid.SliceOfN(AnyBody(), 1, 8).Draw(r, "bodies")
		opening := session.Opening{Dir: AnyString().Draw(r, "dir"), Source: AnyString().Draw(r, "source")}
		must(t, s.Append(t.Context(), batch(id, 0, slices.Concat([]session.Body{opening}, bodies)...)))
		got := events(t, s, id, 0)
		same(t, got[0].Body, session.Body(opening))
		for i, b := range bodies {
			same(t, got[i+1].Body, b)
		}
	})
}

func large(t *testing.T, s session.Store) {
	random := make([]byte, 5<<20)
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(random) // never fails
	must(t, s.Append(t.Context(), batch("s", 0, session.Opening{})))
	for i, text := range []string{string(random), strings.Repeat("说明 ", 3<<20)} {
		in := session.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, Text: text}}}
		must(t, s.Append(t.Context(), batch("s", uint64(i)+1, in)))
		got := events(t, s, "s", uint64(i)+1)
		m, ok := got[0].Body.(session.Message)
		if !ok || !bytes.Equal([]byte(m.Parts[0].Text), []byte(text)) {
			t.Errorf("%d bytes did not come back", len(text))
		}
	}
}

// The caller owns the passed and the returned values.
func ownership(t *testing.T, s session.Store) {
	m := Text(llm.User, "kept")
	m.Usage = &llm.Usage{Input: 1}
	b := batch("s", 0, session.Opening{}, m)
	must(t, s.Append(t.Context(), b))
	spoil := func(m session.Message) { m.Parts[0].Text, m.Usage.Input = "spoiled", 99 }
	spoil(m)
	for range 2 {
		got := events(t, s, "s", 1)[0].Body.(session.Message)
		if got.Parts[0].Text != "kept" || got.Usage.Input != 1 {
			t.Errorf("got %+v", got)
		}
		spoil(got)
	}
	if b.Events[1].Seq != 0 || !b.Events[1].Time.IsZero() {
		t.Errorf("the batch was changed: %+v", b.Events[1])
	}
}

func list(t *testing.T, s session.Store) {
	at := func(minutes int, bodies ...session.Body) []session.Event {
		var out []session.Event
		for _, b := range bodies {
			out = append(out, session.Event{Time: Start.Add(time.Duration(minutes) * time.Minute), Body: b})
		}
		return out
	}
	answer := Text(llm.Assistant, "yes")
	answer.Model = "model-a"
	local := Text(llm.User, "a note")
	local.Local = true
	must(t, s.Append(t.Context(),
		session.Batch{Session: "aa1", Events: at(1, session.Opening{Dir: "/p", Source: "x:1"}, local, Text(llm.User, "  first\n words "), answer)},
		session.Batch{Session: "aa2", Events: at(2, session.Opening{Dir: "/q", From: session.Link{Session: "aa1", Seq: 3, Relation: session.Forked}}, session.Title("named"))},
		session.Batch{Session: "ab3", Events: at(3, session.Opening{Dir: "/p"}, Text(llm.User, "x"), session.Compaction{To: "ab4"})},
		session.Batch{Session: "ab4", Events: at(4, session.Opening{Dir: "/p", From: session.Link{Session: "ab3", Seq: 2, Relation: session.Compacted}})},
		session.Batch{Session: "sub", Events: at(5, session.Opening{Dir: "/p", From: session.Link{Session: "ab4", Seq: 1, Relation: session.Started}})},
	))
	must(t, s.Append(t.Context(), session.Batch{Session: "aa1", After: 4, Events: at(9, session.Usage{Model: "other"})}))
	for _, test := range []struct {
		q    session.Query
		want string
	}{
		{session.Query{}, "aa1 sub ab4 ab3 aa2"},
		{session.Query{Limit: 2}, "aa1 sub"},
		{session.Query{Open: true}, "aa1 ab4 aa2"},
		{session.Query{ID: "ab"}, "ab4 ab3"},
		{session.Query{ID: "%"}, ""},
		{session.Query{Dir: "/q"}, "aa2"},
		{session.Query{Dir: "' OR 1=1 --"}, ""},
		{session.Query{Source: "x:1"}, "aa1"},
		{session.Query{Parent: "ab3"}, "ab4"},
		{session.Query{Dir: "/p", Open: true, Limit: 1}, "aa1"},
	} {
		var ids []string
		for _, i := range sessions(t, s, test.q) {
			ids = append(ids, i.ID)
		}
		if got := strings.Join(ids, " "); got != test.want {
			t.Errorf("%+v: %s, want %s", test.q, got, test.want)
		}
	}
	same(t, sessions(t, s, session.Query{ID: "aa1"})[0], session.Info{
		ID: "aa1", Dir: "/p", Source: "x:1", First: "first words", Model: "model-a",
		Created: Start.Add(time.Minute), Updated: Start.Add(9 * time.Minute), Last: 5, Count: 2,
	})
	same(t, sessions(t, s, session.Query{ID: "ab3"})[0], session.Info{
		ID: "ab3", Dir: "/p", First: "x", Next: "ab4", Closed: 3,
		Created: Start.Add(3 * time.Minute), Updated: Start.Add(3 * time.Minute), Last: 3, Count: 1,
	})
	must(t, s.Append(t.Context(), session.Batch{Session: "ab3", After: 3, Events: at(3, session.Rewind{To: 2})}))
	if i := sessions(t, s, session.Query{ID: "ab3"})[0]; i.Next != "" || i.Closed != 0 {
		t.Errorf("rewound to before its compaction: %+v", i)
	}
	found, err := session.Follow(t.Context(), s, "ab4")
	if err != nil || found.ID != "ab4" {
		t.Errorf("follow: %v, %v", found.ID, err)
	}
	if _, err := session.Find(t.Context(), s, "a"); err == nil || !strings.Contains(err.Error(), "4 sessions have an id that begins with this") {
		t.Errorf("find: %v", err)
	}
}

func search(t *testing.T, s session.Store) {
	call := session.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, Name: "run", Args: `{"command":"go vet"}`}}}
	thought := session.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Thinking, Text: "secretly"}}}
	result := session.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, Text: "exit status\x00 1 \xff" + strings.Repeat("x", 20<<10) + "faraway"}}}
	must(t, s.Append(t.Context(), batch("s1", 0, session.Opening{}, Text(llm.User, "Plant the Beans and PEAS"), call, thought, result)))
	must(t, s.Append(t.Context(), batch("s2", 0, session.Opening{}, session.Title("beans again"), Text(llm.User, "请看 说明文件"), Text(llm.User, `say "hi" * AND`))))
	find := func(limit int, words ...string) string {
		t.Helper()
		hits, err := s.Search(t.Context(), words, limit)
		must(t, err)
		var out []string
		for _, h := range hits {
			out = append(out, fmt.Sprintf("%s/%d", h.Session, h.Event.Seq))
		}
		return strings.Join(out, " ")
	}
	for want, words := range map[string][]string{
		"s2/2 s1/2": {"beans"},
		"s1/2":      {"peas", "BEANS"},
		"s1/3":      {"go vet"},
		"s2/3":      {"说明"},
		"s1/5":      {"exit status  1"},
		"s2/4":      {`"HI" * a`},
		"":          {"beans", "nowhere"},
	} {
		if got := find(0, words...); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
	for _, words := range [][]string{nil, {"secretly"}, {"faraway"}, {"bexans"}} {
		if got := find(0, words...); got != "" {
			t.Errorf("%q: %s", words, got)
		}
	}
	if got := find(1, "beans"); got != "s2/2" {
		t.Errorf("the newest: %s", got)
	}
	must(t, s.Append(t.Context(), batch("s1", 5, Text(llm.User, "more beans"))))
	if got := find(1, "beans"); got != "s1/6" {
		t.Errorf("after an append: %s", got)
	}
}
