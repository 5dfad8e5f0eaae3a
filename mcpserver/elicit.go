package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/internal/invisible"
)

// firstStateless is the first revision without sessions, in which the server
// asks by answering, and the client brings the user's answer with the call.
const firstStateless = "2026-07-28"

func stateless(req *mcp.CallToolRequest) bool { return req.ProtocolVersion() >= firstStateless }

// front is how the user of a call's client can be reached.
type front struct {
	session *mcp.ServerSession
	user    string // whose token it is; "" over stdio
	elicits bool   // the client can ask its user to fill in a form
	answers bool   // by an answer to the request, not by a request of our own
}

func frontOf(req *mcp.CallToolRequest) front {
	f := front{session: req.Session, answers: stateless(req)}
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		f.user = req.Extra.TokenInfo.UserID
	}
	if c := req.ClientCapabilities(); c != nil && c.Elicitation != nil {
		f.elicits = c.Elicitation.Form != nil || c.Elicitation.URL == nil
	}
	return f
}

// form is a question for a client's user, to be carried by an answer.
type form struct {
	params  *mcp.ElicitParams
	answers chan mcp.InputResponse // room for one
}

// formKey names the question in an answer, and the user's answer in the next
// request.
const formKey = "confirm"

// question answers a request with the question that its call waits for.
func question(r *running, f *form) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{formKey: f.params},
		RequestState:  r.secret,
	}
}

// formSchema wants an explicit word, so that a client that accepts whatever
// comes, with nothing filled in, has not approved anything.
const formSchema = `{"type":"object","properties":{` +
	`"approve":{"type":"boolean","title":"Approve","description":"Make this change?"},` +
	`"words":{"type":"string","title":"Words","description":"For the agent, if you say no"}},` +
	`"required":["approve"]}`

var (
	errCannotAsk = errors.New("the client cannot ask its user")
	errUnclear   = errors.New("the client's answer is no decision")
)

// Relay is an approver that stands before another one. The server learns from
// it that a call waits for a person. Where an answer through the client
// suffices (Question.Relay) it puts the question to the client's user, if the
// client can do that; all else, and what they leave undecided, goes to Next.
// It serves every Server of the process.
type Relay struct {
	Next approval.Approver // nil: there is nobody else
}

// Ask implements approval.Approver.
func (l Relay) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	r := runningIn(ctx)
	if r != nil && q.Relay {
		a, err := r.relay(ctx, q)
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		r.log.Debug("question not relayed", "call", r.call.ID, "err", err)
	}
	if l.Next == nil {
		return approval.Answer{}, approval.ErrNobody
	}
	if r != nil {
		defer r.ask("waiting for a person to confirm "+subject(q), false, nil)()
	}
	return l.Next.Ask(ctx, q)
}

// Waits tells the server of a call whose questions are put to people where it is
// done, and not by a Relay: that it waits for one, who is asked about what, or that
// it goes on. ctx is the call's.
func Waits(ctx context.Context, what string, waiting bool) {
	r := runningIn(ctx)
	switch {
	case r == nil:
	case waiting:
		r.ask("waiting for a person to confirm "+what, false, nil)
	default:
		r.set(func(s *state) { *s = state{} })
	}
}

// relay has the client ask its user. An error means that nobody has decided.
func (r *running) relay(ctx context.Context, q approval.Question) (approval.Answer, error) {
	message, ok := messageOf(q)
	if !r.front.elicits || !ok || r.outOfReach() {
		return approval.Answer{}, errCannotAsk
	}
	params := &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(formSchema)}
	what := "waiting for your user to confirm " + subject(q)
	if !r.front.answers {
		defer r.ask(what, true, nil)()
		result, err := r.front.session.Elicit(ctx, params)
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

// outOfReach reports whether a request of our own would find nobody: over HTTP
// such requests go out with the answer to the call, and that has been given.
func (r *running) outOfReach() bool {
	return !r.front.answers && r.front.session.ID() != "" && r.isDetached()
}

// maxWords is how many bytes of a user's words go on.
const maxWords = 4000

// answerOf reads what the client's user said.
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
	words, _ := result.Content["words"].(string) // they may say nothing
	a.Words = strings.ToValidUTF8(words[:min(len(words), maxWords)], "")
	return a, nil
}

// maxShown is the longest diff, in bytes, that a client is asked to show.
const maxShown = 16 << 10

// messageOf is the question in words and its diff. It is not ok where the diff is
// missing or too long to be read: then the client's user cannot know what
// they would approve.
func messageOf(q approval.Question) (_ string, ok bool) {
	if q.Diff == "" || len(q.Diff) > maxShown {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s? The file has %d bytes then.\n", subject(q), q.Size)
	for _, n := range q.Notes {
		fmt.Fprintf(&b, "Note: %s\n", strings.ReplaceAll(string(n), "_", " "))
	}
	b.WriteByte('\n')
	for line := range strings.Lines(q.Diff) {
		b.WriteString(visible(strings.TrimSuffix(line, "\n")))
		b.WriteByte('\n')
	}
	return b.String(), true
}

// subject names what is asked about.
func subject(q approval.Question) string {
	if q.Path == "" {
		return q.Tool
	}
	return q.Tool + " " + visible(q.Path)
}

// visible is s with everything that could make it look like something else
// spelled out.
func visible(s string) string {
	return invisible.Replace(s, func(raw string) string {
		c, _ := utf8.DecodeRuneInString(raw)
		if c == '\t' || unicode.Is(unicode.Zs, c) {
			return raw
		}
		return fmt.Sprintf("<U+%04X>", c)
	})
}

// quoted is s for a message: in quotes, visible, and short.
func quoted(s string) string {
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return invisible.Quote(s)
}
