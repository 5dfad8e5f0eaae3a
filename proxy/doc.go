// Package proxy stands between coding agents and the endpoint of their model.
// It is an http.Handler. A request is forwarded to the provider; what is left out of it on
// the way is decided by package history. docs/proxy.md says all of it in plain words.
//
// # The way of a request
//
//   - serve.go refuses what may not be asked here, and route.go finds the API and the upstream.
//   - upload.go reads the body, as far as budget.go has room for it.
//   - read.go decodes the body and finds its conversation (conversation.go, conversations.go). recent.go
//     holds the newest requests, so that only what is new in a body is read and planned.
//   - thread.go makes the whole conversation of a request that has only what is new in it.
//   - sentform.go looks up how the conversation was sent, where the provider checks what stands before thinking.
//   - cache.go asks package cachestate what is believed of the provider's cache. The verdict names the
//     cold points: the requests before which that cache held nothing of the conversation.
//   - plan.go has the engine of the model (engines.go) plan the request at the cold points, from the state that the
//     request before has left (planstate.go). upload.go patches the body; verify.go proves that nothing else has changed.
//   - forward.go carries the request upstream and the answer back, and reads the usage in it.
//   - recover.go sends a request again, in another form, that is refused because of its thinking. try.go says when such a
//     refusal is risked.
//   - exchange.go writes the row of the account, and writer.go stores it. What the answer shows of the
//     cache is settled with it.
//
// # What is promised
//
// In a body nothing changes but recognised tool results and arguments of calls. On any doubt nothing new is
// changed: where the body is no valid request or too large, continues a conversation that the provider
// stores and that is not held here, or where a plan or a patch fails. The row says why (record.Request.Passed;
// type cause). Messages that were sent before thinking that is checked go out as they were sent even then
// (sentform.go): for them the original is the change.
//
// Messages that were sent once are sent the same way again, unless the cache is gone. Otherwise the provider would have to write
// its cache again. If the provider checks what comes before thinking, nothing that was sent ever changes. The data needed for that
// is stored before any byte of an answer is forwarded.
//
// Requests of one conversation are told by the key that the agent sends, or else by their beginning:
// a request belongs to the conversation whose last request is the longest beginning of this one.
//
// Only requests to the loopback or to Config.AllowedHosts are served, and none that a web page of another
// origin makes. Keys are passed through to the provider that they belong to; they are in no record and no log.
package proxy
