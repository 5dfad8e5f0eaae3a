package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// answer is the message of an answer as it is stored.
func (r *run) answer(res *llm.Response) llm.Message {
	m := res.Message
	m.Role, m.Local = llm.Assistant, false
	m.ID, m.Time, m.Model = res.ID, time.Now(), orElse(r.a.Name, res.Model)
	if !res.Usage.IsZero() {
		u := res.Usage
		m.Usage = &u
	}
	return m
}

// nothing is an answer without words and calls. It is no message: no provider
// takes it back. What it used counts.
func (r *run) nothing(ctx context.Context, res *llm.Response) (bool, error) {
	if err := r.append(ctx, session.Usage{Model: r.a.Name, Used: res.Usage}); err != nil {
		return false, err
	}
	if res.Stop() == llm.StopRefused {
		r.out.End = Refused
		return false, nil
	}
	return r.again(ctx, "Your answer was empty. Go on with the work, or say that it is done.")
}

// again has the model told to go on, three times in a row at most.
func (r *run) again(ctx context.Context, why string) (bool, error) {
	if r.cut++; r.cut > 3 {
		r.out.End = CutOff
		return false, nil
	}
	r.tell(Event{Kind: Reminded, Text: why})
	return true, r.append(ctx, spoken(llm.User, reminder(why)))
}

// failed is a request that was not answered, or not to its end. What was said
// is stored, but for what cannot be sent back.
func (r *run) failed(ctx context.Context, b built, res *llm.Response, err error) (bool, error) {
	if errors.Is(err, llm.ErrTooLong) && r.narrow(b) {
		return true, nil
	}
	if res == nil {
		return false, err
	}
	if isEmpty(res.Message) {
		return r.unsaid(ctx, res, err)
	}
	m := r.answer(res)
	r.answered = true
	r.out.Usage = r.out.Usage.Add(res.Usage)
	if stored := r.append(ctx, session.Message(m), noted(err.Error())); stored != nil {
		return false, errors.Join(err, stored)
	}
	r.tell(Event{Kind: Answered, Message: m, Usage: res.Usage})
	if stored := r.refuse(ctx, callsOf(m)); stored != nil {
		return false, errors.Join(err, stored)
	}
	if ctx.Err() != nil || !errors.Is(err, llm.ErrBroken) {
		return false, err
	}
	due, stored := r.again(ctx, "Your answer broke off. Go on where it ends.")
	if !due && stored == nil {
		stored = err
	}
	return due, stored
}

// unsaid is an answer that broke off before there was anything of it that can be
// sent back: in its reasoning, or within its first call. What it used counts. The
// same is asked again, three times in a row at most.
func (r *run) unsaid(ctx context.Context, res *llm.Response, err error) (bool, error) {
	if !res.Usage.IsZero() {
		r.out.Usage = r.out.Usage.Add(res.Usage)
		if stored := r.append(ctx, session.Usage{Model: r.a.Name, Used: res.Usage}); stored != nil {
			return false, errors.Join(err, stored)
		}
	}
	if ctx.Err() != nil || !errors.Is(err, llm.ErrBroken) {
		return false, err
	}
	if r.cut++; r.cut > 3 {
		return false, err
	}
	r.tell(Event{Kind: Piece, Piece: llm.Event{Kind: llm.Retrying, Err: err}})
	return true, nil
}

// cutOff begins the note for the person behind an answer that is not whole.
const cutOff = "The answer was cut off: "

// cutOffNote is the note that the last answer is not whole, nil if it is.
func cutOffNote(st session.State) *llm.Message {
	for _, m := range slices.Backward(st.Messages) {
		if !m.Local {
			return nil
		}
		if len(m.Parts) > 0 && strings.HasPrefix(m.Parts[0].Text, cutOff) {
			return &m
		}
	}
	return nil
}

// noted is the note for the person that the answer was cut off, and why.
func noted(why string) session.Message {
	m := spoken(llm.System, llm.Part{Text: cutOff + why})
	m.Local = true
	return m
}

// spoken is a message as it is stored.
func spoken(role llm.Role, parts ...llm.Part) session.Message {
	return session.Message{Role: role, Parts: parts, Time: time.Now()}
}

// words is the text of a message.
func words(m llm.Message) string {
	var all []string
	for _, p := range m.Parts {
		if p.Kind == llm.Text && p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// isEmpty reports whether a message says nothing: reasoning alone is nothing.
func isEmpty(m llm.Message) bool {
	for _, p := range m.Parts {
		if p.Kind != llm.Thinking && (p.Kind != llm.Text || strings.TrimSpace(p.Text) != "") {
			return false
		}
	}
	return true
}

func callsOf(m llm.Message) []llm.Part {
	var calls []llm.Part
	for _, p := range m.Parts {
		if p.Kind == llm.ToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}
