package proxy

import (
	"io"

	"github.com/stet-dev/stet/internal/continuation"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/record"
)

// Some providers keep a conversation: a request then names an earlier answer and has only what is new since. Such a
// request is planned as the whole conversation, which is held here (package continuation). Of the plan, the edits of new
// messages are made in the request. The older messages are with the provider as they were sent: a plan
// that would have them otherwise cannot be carried out, and the request goes untouched. So does one that goes on from an
// answer that is not held.

// messageThreads says where the messages stand in the bodies of the Messages API. A thread keeps the
// system text, the tools and all that it was created with.
var messageThreads = continuation.Shape{Items: "messages", Keeps: true}

// assembly puts an answer together as it passes by.
type assembly interface {
	io.Writer // takes all, and returns no error
	// Answer returns the answer's id and its items in the conversation; false: it is not whole yet, or not understood.
	Answer() (id string, items [][]byte, ok bool)
}

// message is the assembly of an answer that is one message.
type message struct{ *anthropic.Assembly }

func (m message) Answer() (id string, items [][]byte, ok bool) {
	id, item, ok := m.Assembly.Answer()
	return id, [][]byte{item}, ok
}

// responseChains says where the items stand in the bodies of the Responses API. A request that goes on from a
// response has instructions and tools of its own.
var responseChains = continuation.Shape{Items: "input", Without: []string{"previous_response_id"}, Lone: func(text []byte) []byte {
	return append(append([]byte(`{"role":"user","content":`), text...), '}')
}}

// notHeld is the cause for a request that goes on with what is not held here.
func (x *exchange) notHeld() cause {
	if x.api == record.Responses {
		return chained
	}
	return threaded
}

// followResponse finds what a request of the Responses API goes on from.
func (p *Proxy) followResponse(x *exchange, d *reading) cause {
	switch req := d.request; {
	case req.Previous != "":
		return p.viewWhole(x, d, responseChains, req.Previous)
	case !req.Chained && (x.keeps || openai.Stored(x.body.head)):
		if turn, err := responseChains.Whole(x.body.head); err == nil {
			x.body.turn = turn
		}
	}
	return planned
}

// viewWhole makes the whole conversation the view of a request that goes on from the answer id.
func (p *Proxy) viewWhole(x *exchange, d *reading, shape continuation.Shape, id string) cause {
	turn, err := p.continued.Continue(shape, answerKey(x, id), x.body.head)
	if err != nil {
		return malformed
	}
	if turn == nil || x.body.take(&p.budget, x.body.client, 2*int64(len(turn.Body))) != nil {
		return x.notHeld()
	}
	x.body.turn = turn
	d.view = lend(turn.Body)
	x.body.borrowed = append(x.body.borrowed, d.view)
	if why := p.read(x, d); why != planned {
		return why
	}
	if d.request.Chained {
		return x.notHeld()
	}
	return planned
}

// follow finds what the request is in its thread. For one that goes on with a thread, view becomes the
// whole conversation; the cause says why that cannot be.
func (p *Proxy) follow(x *exchange, d *reading) cause {
	req := d.request
	if x.api == record.Responses {
		return p.followResponse(x, d)
	}
	if x.api != record.Messages || p.config.RefuseThreads {
		if req.Thread == llm.ThreadContinue {
			return threaded
		}
		return planned
	}
	var err error
	switch req.Thread {
	case llm.ThreadCreate:
		if x.body.turn, err = messageThreads.Whole(x.body.head); err != nil {
			return malformed
		}
	case llm.ThreadContinue:
		return p.viewWhole(x, d, messageThreads, req.Previous)
	}
	return planned
}

// answerKey is what an answer is held by: ids of two providers may be equal.
func answerKey(x *exchange, id string) string {
	return x.api + "\x00" + x.upstream.Host + "\x00" + id
}

// assemble returns what puts the answer to a request of a thread together; nil: it is to no thread.
func (x *exchange) assemble(contentType string) assembly {
	if x.body.turn == nil {
		return nil
	}
	if x.api == record.Responses {
		return openai.NewAssembly(contentType)
	}
	return message{anthropic.NewAssembly(contentType)}
}

// hear shows b, of an answer, to the assembly. Once the answer is whole, the conversation is held,
// before the client can go on from it.
func (p *Proxy) hear(x *exchange, b []byte) {
	if x.assembly == nil {
		return
	}
	_, _ = x.assembly.Write(b)
	id, items, ok := x.assembly.Answer()
	if !ok {
		return
	}
	x.assembly = nil
	if err := p.continued.Hold(answerKey(x, id), x.body.turn, x.body.sent(), items...); err != nil {
		p.log.Warn("a thread is not followed", "conversation", x.row.Conversation, "error", err)
	}
}
