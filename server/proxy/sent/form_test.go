package sent

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/test/recordtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// talk returns a conversation of rounds calls with results. The answers' signatures begin with by.
func talk(rounds int, by string) *Conversation {
	messages := []llm.Message{{Role: llm.System, Parts: []llm.Part{{Text: "You help."}}}, {Role: llm.User, Parts: []llm.Part{{Text: "go on"}}}}
	for i := range rounds {
		answer := []llm.Part{{Kind: llm.ToolCall, CallID: "c", Name: "Bash", Args: `{"command":"make"}`}}
		if by != "" {
			thought := llm.Part{Kind: llm.Thinking, Raw: fmt.Sprintf(`{"type":"thinking","signature":"%s of the answer %d"}`, by, i)}
			answer = append([]llm.Part{thought}, answer...)
		}
		messages = append(messages, llm.Message{Role: llm.Assistant, Parts: answer},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c", Text: result}}})
	}
	chain := prefix.ChainOf(messages, nil, 0)
	return Of(messages, &chain, nil, 0)
}

const result = "a result that is long enough to be worth leaving out"

// cut returns an edit of the result of a round.
func cut(round int, text string) Edit {
	return Edit{llm.Edit{Message: 3 + 2*round, Text: text}, "repeat"}
}

// ask records that a conversation was sent in a form and answered with thinking.
func ask(t *testing.T, m *Memory, f *Form, c *Conversation, by string, at time.Time) {
	t.Helper()
	sent := &Outgoing{From: len(c.messages), Form: f}
	b, kept := m.Note(sent, c, at)
	b.Places = append(b.Places, m.Answered(sent, signatureOf(by, (len(c.messages)-2)/2), at)...)
	if m.store != nil {
		if err := m.store.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		kept()
	}
}

func signatureOf(by string, answer int) string { return fmt.Sprintf("%s of the answer %d", by, answer) }

// edits returns the edits of a request's beginning, by the most likely form.
func edits(t *testing.T, m *Memory, c *Conversation) (known Known, out []Edit) {
	t.Helper()
	found, err := m.Find(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		return Known{}, nil
	}
	if out, _, err = m.Edits(found[0].Form, c, found[0].Messages); err != nil {
		t.Fatal(err)
	}
	return found[0], out
}

// The sent edits are found by the signature of its answer, in this process and, through the store, in another one. Only parts with
// the same place and text are edited (WIRE-2).
func TestFindBySignature(t *testing.T) {
	store := new(recordtest.Memory)
	m := NewMemory(store)
	c := talk(2, "one")
	first := (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "left out")}, Cleared: 0})
	ask(t, m, first, c, "one", noon)
	c = talk(4, "one")
	second := first.Extend(c, Added{From: 6, Edits: []Edit{cut(1, "not this one"), cut(3, "left out too")}, Cleared: 0})
	ask(t, m, second, c, "one", noon.Add(time.Minute))

	want := []Edit{cut(1, "left out"), cut(3, "left out too")}
	for name, m := range map[string]*Memory{"this process": m, "another": NewMemory(store)} {
		known, got := edits(t, m, talk(6, "one"))
		if diff := cmp.Diff(want, got); diff != "" || known.Messages != 10 || !known.Signed {
			t.Errorf("%s: %d messages %s", name, known.Messages, diff)
		}
		if known, got := edits(t, m, talk(3, "one")); known.Messages != 6 || cmp.Diff(want[:1], got) != "" {
			t.Errorf("%s, gone back: %d messages, %v", name, known.Messages, got)
		}
		if known, got := edits(t, m, talk(5, "")); known.Messages != 10 || known.Signed || cmp.Diff(want, got) != "" {
			t.Errorf("%s, without thinking: %d messages, %v", name, known.Messages, got)
		}
		if found, err := m.Find(t.Context(), talk(1, "")); err != nil || len(found) > 0 {
			t.Errorf("%s: an answer that is not known: %v, %v", name, found, err)
		}
	}
}

// The same messages may be sent in several forms. A signature shows which one. Without a signature the newest form is the most
// likely, but a form based on the known form of an older answer has priority.
func TestSeveralForms(t *testing.T) {
	m := NewMemory(nil)
	c := talk(2, "one")
	short := (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "left out")}, Cleared: 0})
	ask(t, m, short, c, "short", noon)
	ask(t, m, nil, c, "whole", noon.Add(time.Minute))
	signed := func(by string) *Conversation {
		c := talk(3, "one")
		c.messages[6].Parts[0].Raw = fmt.Sprintf(`{"signature":%q}`, signatureOf(by, 2))
		return c
	}
	if known, _ := edits(t, m, signed("short")); known.Form != short {
		t.Error("another form than that of the signature")
	}
	if known, _ := edits(t, m, signed("whole")); !known.Signed || !known.Form.Empty() {
		t.Error("another form than that of the signature")
	}
	found, err := m.Find(t.Context(), signed("neither"))
	if err != nil || len(found) != 2 || found[0].Form != nil || found[1].Form != short {
		t.Errorf("%v, %v", found, err)
	}

	m = NewMemory(nil)
	ask(t, m, short, talk(2, "one"), "one", noon)
	c = talk(3, "one")
	longer := short.Extend(c, Added{From: 6, Edits: []Edit{cut(2, "left out")}, Cleared: 0})
	ask(t, m, longer, c, "lost", noon)
	ask(t, m, nil, c, "lost as well", noon.Add(time.Minute))
	if known, _ := edits(t, m, talk(4, "one")); known.Form != longer {
		t.Error("the newest form, which is not that of the older answer")
	}
}

// A store's rows cannot be read without the conversation.
func TestSealed(t *testing.T) {
	store := new(recordtest.Memory)
	c := talk(2, "one")
	ask(t, NewMemory(store), (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "a secret file")}, Cleared: 0}), c, "one", noon)
	places, forms, err := store.SentForms(t.Context(), []uint64{ofRequest(c.chain.Last())})
	if err != nil || len(places) != 1 || len(forms) != 1 {
		t.Fatal(places, forms, err)
	}
	if row := forms[0].Edits; len(row) == 0 || bytes.Contains(row, []byte("secret")) || bytes.Contains(row, []byte("repeat")) {
		t.Errorf("%q", row)
	}
	for n := range forms[0].Edits {
		if _, err := unpack(forms[0].Edits[:n]); err == nil && n > 0 {
			t.Errorf("%d bytes of it were read", n)
		}
	}
	forms[0].Edits[20] ^= 1
	if _, err := unpack(forms[0].Edits); err != nil {
		t.Fatal(err)
	}
	damaged := new(recordtest.Memory)
	if err := damaged.Append(t.Context(), record.Batch{Forms: forms, Places: places}); err != nil {
		t.Fatal(err)
	}
	m := NewMemory(damaged)
	found, err := m.Find(t.Context(), talk(3, ""))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if got, _, err := m.Edits(found[0].Form, talk(3, ""), found[0].Messages); err == nil {
		t.Errorf("a damaged form was read: %v", got)
	}
}

// If the store fails, Memory's forms remain.
func TestStoreFails(t *testing.T) {
	store := new(recordtest.Memory)
	m := NewMemory(store)
	c := talk(2, "one")
	form := (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "left out")}, Cleared: 0})
	ask(t, m, form, c, "one", noon)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found, err := m.Find(ctx, talk(5, "one"))
	if err == nil || len(found) != 1 || found[0].Form != form {
		t.Errorf("%v, %v", found, err)
	}
}

// The form that was accepted last is the most likely, even if the clock was set back meanwhile.
func TestClockPutBack(t *testing.T) {
	store := new(recordtest.Memory)
	m := NewMemory(store)
	c := talk(2, "")
	refused := (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "left out")}, Cleared: 0})
	sent := &Outgoing{From: len(c.messages), Form: refused}
	b, _ := m.Note(sent, c, noon)
	sent = &Outgoing{}
	now := noon.Add(-time.Hour)
	after, _ := m.Note(sent, c, now)
	b.Places = append(append(b.Places, after.Places...), m.Taken(sent, false, now)...)
	if err := store.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Memory{"this process": m, "the next one": NewMemory(store)} {
		if known, _ := edits(t, m, talk(3, "")); known.Messages == 0 || !known.Form.Empty() {
			t.Errorf("%s: the form that was refused is the likeliest", name)
		}
	}
}

// A form with a missing part in the store does not hide other forms.
func TestPartMissing(t *testing.T) {
	store := new(recordtest.Memory)
	c := talk(2, "one")
	form := (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, "left out")}, Cleared: 0})
	ask(t, NewMemory(store), form, c, "one", noon)
	older := record.SentPlace{Place: ofRequest(c.chain.Last()), Form: 77, Time: noon.Add(-time.Hour)}
	if err := store.Append(t.Context(), record.Batch{Places: []record.SentPlace{older}}); err != nil {
		t.Fatal(err)
	}
	found, err := NewMemory(store).Find(t.Context(), talk(3, "one"))
	if err == nil || len(found) != 1 || !found[0].Signed || found[0].Form.identity() != form.id {
		t.Errorf("%v, %v", found, err)
	}
}

// Memory is bounded; removed forms are in the store.
func TestBounded(t *testing.T) {
	store := new(recordtest.Memory)
	m := NewMemory(store)
	long := strings.Repeat("x", maxMemory/50)
	c := talk(2, "one")
	for i := range 120 {
		ask(t, m, (*Form)(nil).Extend(c, Added{From: 0, Edits: []Edit{cut(1, fmt.Sprint(i, long))}, Cleared: 0}), c, fmt.Sprint("by ", i), noon.Add(time.Duration(i)*time.Second))
		if m.size > maxMemory {
			t.Fatalf("%d bytes are held", m.size)
		}
	}
	if m.order.Len() > 110 || len(m.places) > m.order.Len() {
		t.Errorf("%d places are held", m.order.Len())
	}
	c = talk(3, "one")
	c.messages[6].Parts[0].Raw = fmt.Sprintf(`{"signature":%q}`, signatureOf("by 0", 2))
	if known, got := edits(t, m, c); !known.Signed || len(got) != 1 || got[0].Text != "0"+long {
		t.Errorf("what was forgotten is lost: %v", known)
	}
	for m.order.Len() > 0 {
		m.drop(m.order.Back().Value.(*placed))
	}
	if m.size != 0 || len(m.places) != 0 {
		t.Errorf("%d bytes are left, %d places", m.size, len(m.places))
	}
}
