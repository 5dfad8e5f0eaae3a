package proxy

import (
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/server/proxy/threads"
)

// Some providers store a conversation. A request then names an earlier answer and carries only the messages since. Such a
// request is a continuation. It is planned as the whole conversation, which is held here (package threads). Then only the edits
// of its new messages are made in the request. The provider has the older messages as they were sent. If a plan needs another form of
// them, the request goes untouched. If the earlier answer is not held here, the request also goes untouched.

// messageThreads says where the messages are in bodies of the Messages API. A thread keeps the
// system text, the tools and everything else that it was created with.
var messageThreads = threads.Shape{Items: "messages", Keeps: true}

// responseChains says where the items are in bodies of the Responses API. A request that continues a response has its
// own instructions and tools.
var responseChains = threads.Shape{Items: "input", Without: []string{"previous_response_id"}, Lone: func(text []byte) []byte {
	return append(append([]byte(`{"role":"user","content":`), text...), '}')
}}

// notHeld returns the cause for a request that continues an answer that is not held here.
func (x *exchange) notHeld() cause {
	if x.api == llm.Responses {
		return chained
	}
	return threaded
}

// viewWhole makes the whole conversation the planned body of a request that continues the answer id.
func (p *Proxy) viewWhole(x *exchange, d *reading, shape threads.Shape, id string) cause {
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

// follow handles a request of a conversation that the provider stores. If the request continues one, the whole conversation becomes the
// planned body. If that fails, the cause says why.
func (p *Proxy) follow(x *exchange, d *reading) cause {
	req, shape, begins, goesOn := d.request, messageThreads, d.request.Thread == llm.ThreadCreate, d.request.Thread == llm.ThreadContinue
	if x.api == llm.Responses {
		shape, goesOn = responseChains, req.Previous != ""
		begins = !goesOn && !req.Chained && (x.keeps || openai.Stored(x.body.head))
	} else if x.api != llm.Messages || p.config.RefuseThreads {
		if goesOn {
			return threaded
		}
		return planned
	}
	if goesOn {
		return p.viewWhole(x, d, shape, req.Previous)
	}
	if begins {
		turn, err := shape.Whole(x.body.head)
		if err != nil && x.api == llm.Messages {
			return malformed
		}
		x.body.turn = turn
	}
	return planned
}

// answerKey returns the key under which an answer is held. It includes the upstream because two providers may use the same id.
func answerKey(x *exchange, id string) string {
	return x.api + "\x00" + x.upstream.Host + "\x00" + id
}

// assemble returns the assembly for an answer; nil: the conversation is not stored by the provider.
func (x *exchange) assemble(contentType string) *llm.Assembly {
	if x.body.turn == nil || x.compacts {
		return nil
	}
	if x.api == llm.Responses {
		return openai.NewAssembly(contentType)
	}
	return anthropic.NewAssembly(contentType)
}

// hear passes b, a piece of an answer, to the assembly. When the answer is complete, the conversation is held, before the client
// can continue it.
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
	if err := p.continued.Hold(answerKey(x, id), x.body.turn, x.body.text(), items...); err != nil {
		p.log.Warn("a thread is not followed", "conversation", x.row.Conversation, "error", err)
	}
}
