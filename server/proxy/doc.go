// Package proxy is an http.Handler between coding agents and their model provider. It forwards requests to the provider.
// Package trim decides what is left out of them. docs/proxy.md explains everything in plain words.
//
// # The way of a request
//
//   - serve.go rejects requests that are not allowed. route.go finds the API and the upstream.
//   - upload.go reads the body, if buffer.go has capacity for it.
//   - read.go decodes the body and finds its conversation (conversations.go). recent.go
//     holds the newest requests, so that only the new part of a body is read and planned.
//   - thread.go rebuilds the whole conversation of a request that carries only its new messages.
//   - tree.go and caps.go say whether the request may go out: stops and limits of a person; the holdout goes out unchanged.
//   - sent.go looks up how the conversation was sent. clear.go says whether the provider may be asked to clear old results itself.
//   - cache.go asks package cachestate for a verdict on the provider's cache: is the request a cold point? With it, sent.go chooses what is repeated.
//   - plan.go plans the new messages, and at a cold point all of them, with the engine of the model (models.go). It continues from the
//     engine's state after the previous request, or makes that again from what was sent (recent.go). upload.go patches the body; it proves that nothing else changed.
//   - forward.go sends the request upstream, passes the answer back, and reads the usage in it.
//   - recover.go sends a request again in another form if the provider refuses it because of its thinking.
//   - exchange.go makes the row of the request, and settles the cache state with the usage in the answer. writer.go then stores the row.
//
// # Guarantees
//
// In a body nothing changes but recognised tool results and arguments of recognised calls. On any doubt nothing new is
// changed. Doubts are: the body is not valid or too large; the request continues a conversation that the provider
// stores and this proxy does not hold; a plan or a patch fails. The row says why (record.Request.Passed; type cause).
// Messages before checked thinking are sent as they were sent before, even on a doubt (sent.go): the provider would refuse
// the client's original.
//
// Messages are sent again in the form in which they were sent before, unless the cache is cold. A change would make the provider
// write its cache again. If the provider checks what comes before thinking, no message that was sent ever changes. The data needed
// for that is stored before any byte of an answer is forwarded.
//
// A conversation is recognised by the key that the agent sends, or else by its messages: a request belongs to the conversation
// whose last request is the longest beginning of this one.
//
// Only requests to the loopback or to Config.AllowedHosts are served. Requests made by a web page of another origin are refused.
// A key is passed only to the provider it belongs to; no record and no log contains keys.
package proxy
