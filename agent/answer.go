package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// An answer is stored, whole or not, and its calls that are not run get results that say so.

// answer returns the message of an answer in the form in which it is stored.
func (r *run) answer(res *llm.Response) llm.Message {
	m := res.Message
	m.Role, m.Local = llm.Assistant, false
	m.ID, m.Time, m.Model = res.ID, time.Now(), cmp.Or(r.a.Name, res.Model)
	if !res.Usage.IsZero() {
		u := res.Usage
		m.Usage = &u
	}
	return m
}

// emptyAnswer handles an answer without text and calls. It is not stored as a message, because no provider accepts it in a
// request. Its usage is stored.
func (r *run) emptyAnswer(ctx context.Context, res *llm.Response) (bool, error) {
	if err := r.append(ctx, session.Usage{Model: r.a.Name, Used: res.Usage}); err != nil {
		return false, err
	}
	if res.Stop() == llm.StopRefused {
		r.out.End = Refused
		return false, nil
	}
	return r.askToGoOn(ctx, "Your answer was empty. Go on with the work, or say that it is done.")
}

// askToGoOn adds a reminder that asks the model to continue, at most three times in a row.
func (r *run) askToGoOn(ctx context.Context, why string) (bool, error) {
	if r.cut++; r.cut > 3 {
		r.out.End = CutOff
		return false, nil
	}
	r.tell(Event{Kind: Reminded, Text: why})
	return true, r.append(ctx, newMessage(llm.User, reminder(why)))
}

// failedRequest handles a request without an answer, or with an incomplete one. The part of the answer that arrived is
// stored, if a provider accepts it in a request.
func (r *run) failedRequest(ctx context.Context, b built, res *llm.Response, err error) (bool, error) {
	if errors.Is(err, llm.ErrTooLong) && r.narrow(b) {
		return true, nil
	}
	if res == nil {
		return false, err
	}
	if isEmpty(res.Message) {
		return r.brokenOff(ctx, res, err)
	}
	m := r.answer(res)
	r.answered = true
	r.out.Usage = r.out.Usage.Add(res.Usage)
	if stored := r.append(ctx, session.Message(m), newCutOffNote(err.Error())); stored != nil {
		return false, errors.Join(err, stored)
	}
	r.tell(Event{Kind: Answered, Message: m, Usage: res.Usage})
	if stored := r.refuse(ctx, callsOf(m)); stored != nil {
		return false, errors.Join(err, stored)
	}
	if ctx.Err() != nil || !errors.Is(err, llm.ErrBroken) {
		return false, err
	}
	due, stored := r.askToGoOn(ctx, "Your answer broke off. Go on where it ends.")
	if !due && stored == nil {
		stored = err
	}
	return due, stored
}

// brokenOff handles an answer that ended in its thinking or in its first call, so that no part of it can be sent back. Its
// usage is stored. The same request is sent again, at most three times in a row.
func (r *run) brokenOff(ctx context.Context, res *llm.Response, err error) (bool, error) {
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

// cutOff is the beginning of the note for the person after an incomplete answer.
const cutOff = "The answer was cut off: "

// cutOffNote returns the note that the last answer is incomplete, or nil.
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

// newCutOffNote returns the note for the person that an answer was cut off, with the reason.
func newCutOffNote(why string) session.Message {
	m := newMessage(llm.System, llm.Part{Text: cutOff + why})
	m.Local = true
	return m
}

// newMessage returns a message with the current time, to be stored.
func newMessage(role llm.Role, parts ...llm.Part) session.Message {
	return session.Message{Role: role, Parts: parts, Time: time.Now()}
}

// textOf returns the text of a message.
func textOf(m llm.Message) string {
	var all []string
	for _, p := range m.Parts {
		if p.Kind == llm.Text && p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// isEmpty reports whether a message has neither text nor calls. Thinking does not count.
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

// Results of calls that have no result of their own.
const (
	unknown     = "[no result: the program ended before it was stored. Whether the call was done is not known: look before you make it again.]"
	goneBack    = "[no result: the person went back to before it was there. Whether the call was done is not known: look before you make it again.]"
	interrupted = "[no result: the person interrupted before the call was begun. Nothing was done.]"
	unsure      = "[no result: the person interrupted the call. Whether it was done is not known: look before you make it again.]"
	notRun      = "[not run: the answer was not whole. Make the call again if it is needed.]"
	cutCall     = "[not run: the answer reached the limit of its length within this call. Make it again in smaller pieces.]"
)

// refuse stores results for calls that are not run. The results say so.
func (r *run) refuse(ctx context.Context, calls []llm.Part) error {
	for _, call := range calls {
		if err := r.skip(ctx, call, notRun); err != nil {
			return err
		}
	}
	return nil
}

// skip stores a result for a call that is not run. why is the text for the model.
func (r *run) skip(ctx context.Context, call llm.Part, why string) error {
	d := done{call: call, result: failed(call, tool.Cancelled, why)}
	if err := r.append(ctx, result(d)); err != nil {
		return err
	}
	r.tell(Event{Kind: CallEnds, Call: call, Result: d.result})
	return nil
}

// settle stores results for calls of the last answer that have none. Either the process ended before the result was stored,
// or the person went back to a point before the result. The calls are not run again, because they may have been done.
func (r *run) settle(ctx context.Context) error {
	st := r.State()
	why := unknown
	if st.Rewound {
		why = goneBack
	}
	answered := map[string]bool{}
	for i := len(st.Messages) - 1; i >= 0; i-- {
		m := &st.Messages[i]
		if m.Role == llm.Assistant && !m.Local {
			for _, call := range callsOf(*m) {
				if answered[call.CallID] {
					continue
				}
				if err := r.skip(ctx, call, why); err != nil {
					return err
				}
			}
			return nil
		}
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResult {
				answered[p.CallID] = true
			}
		}
		if m.Role == llm.User && !m.Local {
			return nil // the conversation has continued
		}
	}
	return nil
}

// isObject reports whether arguments are a JSON object. Empty arguments count as one, because some models send them for a
// tool without parameters.
func isObject(args string) bool {
	args = strings.TrimSpace(args)
	return args == "" || strings.HasPrefix(args, "{") && json.Valid([]byte(args))
}

// noObject describes what is wrong with arguments that are not a JSON object.
func noObject(args string) string {
	var v map[string]any
	err := json.Unmarshal([]byte(args), &v)
	return fmt.Sprintf("the arguments are no JSON object (%v). Make the call again with one.", err)
}
