package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/invisible"
)

// firstStateless is the first revision without sessions. In it the server puts a question into its answer, and the client sends
// the user's answer with the repeated call.
const firstStateless = "2026-07-28"

func stateless(req *mcp.CallToolRequest) bool { return req.ProtocolVersion() >= firstStateless }

// clientUser is the user of the client that made a call, and the way in which questions reach this user.
type clientUser struct {
	session *mcp.ServerSession
	account string // identifies the token; "" over stdio
	elicits bool   // the client can ask its user to fill in a form
	answers bool   // a question is sent as an answer to the request, and not as a request of the server
}

func userOf(req *mcp.CallToolRequest) clientUser {
	u := clientUser{session: req.Session, account: accountOf(req), answers: stateless(req)}
	if c := req.ClientCapabilities(); c != nil && c.Elicitation != nil {
		u.elicits = c.Elicitation.Form != nil || c.Elicitation.URL == nil
	}
	return u
}

// form is a question for a client's user that is sent in an answer.
type form struct {
	params  *mcp.ElicitParams
	answers chan mcp.InputResponse // capacity 1
}

// formKey is the name of the question in an answer, and of the user's answer in the next request.
const formKey = "confirm"

// question answers a request with the question that its call waits for.
func question(r *activeCall, f *form) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{formKey: f.params},
		RequestState:  r.secret,
	}
}

// formSchema requires an explicit decision. If a client accepts every form without values, nothing is approved.
const formSchema = `{"type":"object","properties":{` +
	`"approve":{"type":"boolean","title":"Approve","description":"Make this change?"},` +
	`"words":{"type":"string","title":"Words","description":"For the agent, if you say no"}},` +
	`"required":["approve"]}`

var (
	errCannotAsk = errors.New("the client cannot ask its user")
	errUnclear   = errors.New("the client's answer is no decision")
)

// Relay is an approver in front of another one. It reports to the server that a call waits for a person. If an answer from the client
// is enough (Question.Relay) and the client can ask its user, the question goes to that user. All other questions go to Next, and
// so do questions that the user does not decide. One Relay serves all Servers of the process.
type Relay struct {
	Next approval.Approver // nil: no other person can be asked
}

// Ask implements approval.Approver.
func (l Relay) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	r := callIn(ctx)
	if r != nil && q.Relay {
		a, err := r.relay(ctx, q)
		switch {
		case ctx.Err() != nil: // the answer came too late, if there is one
			return approval.Answer{}, ctx.Err()
		case err == nil:
			return a, nil
		}
		r.log.Debug("question not relayed", "call", r.call.ID, "err", err)
	}
	if l.Next == nil {
		return approval.Answer{}, approval.ErrNoPerson
	}
	if r != nil {
		defer r.ask("waiting for a person to confirm "+subject(q), false, nil)()
	}
	return l.Next.Ask(ctx, q)
}

// Waits reports to the server that a call waits for a person, or that it continues. what names the subject of the question. Waits is
// for calls that run in another process, because their questions do not reach a Relay. ctx is the context of the call.
func Waits(ctx context.Context, what string, waiting bool) {
	r := callIn(ctx)
	switch {
	case r == nil:
	case waiting:
		r.ask("waiting for a person to confirm "+what, false, nil)
	default:
		r.set(state{})
	}
}

// relay lets the client ask its user. An error means that there is no decision.
func (r *activeCall) relay(ctx context.Context, q approval.Question) (approval.Answer, error) {
	message, ok := messageOf(q)
	if !r.user.elicits || !ok || r.outOfReach() {
		return approval.Answer{}, errCannotAsk
	}
	params := &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(formSchema)}
	what := "waiting for your user to confirm " + subject(q)
	if !r.user.answers {
		defer r.ask(what, true, nil)()
		result, err := r.user.session.Elicit(ctx, params)
		if err != nil {
			return approval.Answer{}, err
		}
		return answerOf(q, result)
	}
	f := &form{params: params, answers: make(chan mcp.InputResponse, 1)}
	defer r.ask(what, true, f)()
	select {
	case response := <-f.answers:
		return answerOf(q, response)
	case <-ctx.Done():
		return approval.Answer{}, ctx.Err()
	}
}

// outOfReach reports whether a request of the server cannot reach the client. Over HTTP such requests are sent in the response to
// the call. After that response there is no way to send them.
func (r *activeCall) outOfReach() bool {
	return !r.user.answers && r.user.session.ID() != "" && r.isDetached()
}

// maxWords is the maximum length, in bytes, of a user's words that are passed on.
const maxWords = 4000

// answerOf reads the answer of the client's user.
func answerOf(q approval.Question, response mcp.InputResponse) (approval.Answer, error) {
	result, ok := response.(*mcp.ElicitResult)
	if !ok {
		return approval.Answer{}, errUnclear
	}
	a := approval.Answer{Relayed: true, By: q.Client}
	switch result.Action {
	case "accept":
		yes, ok := result.Content["approve"].(bool)
		if !ok {
			return approval.Answer{}, errUnclear
		}
		if yes {
			a.Verdict, a.Seal = approval.Approve, q.Seal
			return a, nil
		}
		a.Verdict = approval.Reject
	case "decline":
		a.Verdict = approval.Reject
	case "cancel":
		a.Verdict = approval.Cancel
	default:
		return approval.Answer{}, errUnclear
	}
	words, _ := result.Content["words"].(string) // they may be missing
	a.Words = strings.ToValidUTF8(words[:min(len(words), maxWords)], "")
	return a, nil
}

// maxShown is the maximum length, in bytes, of a diff that a client is asked to show.
const maxShown = 16 << 10

// messageOf returns the text of a question, with its diff. ok is false if the diff is missing or longer than maxShown: the
// client's user could not know what they approve.
func messageOf(q approval.Question) (_ string, ok bool) {
	text := q.Diff.Text()
	if text == "" || len(text) > maxShown {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Allow it? %s.\n", invisible.Coded(q.Title(), "\t"))
	if end := q.Deadline(); end != "" {
		b.WriteString(end + "\n")
	}
	for _, w := range q.Warnings {
		fmt.Fprintf(&b, "Note: %s\n", invisible.Coded(w, "\t"))
	}
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		b.WriteString(invisible.Coded(strings.TrimSuffix(line, "\n"), "\t"))
		b.WriteByte('\n')
	}
	return b.String(), true
}

// subject names the tool and the path that a question is about.
func subject(q approval.Question) string {
	if q.Path == "" {
		return q.Tool
	}
	return q.Tool + " " + invisible.Coded(q.Path, "\t")
}

// quoted returns s for use in a message: in quotes, with visible characters, and shortened.
func quoted(s string) string {
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return invisible.Quote(s)
}
