// Package mcpserver gives the tools of a tool.Caller to MCP clients, over
// stdio and over streamable HTTP, in the protocol's revisions 2025-06-18 and
// 2025-11-25 (sessions) and 2026-07-28 (stateless).
//
// # Results
//
// Arguments go to the Caller as they came. What the Caller says comes back as
// one text, content[0].text, and isError says whether the call failed. There
// is no structuredContent: content goes once.
//
// # Client sessions
//
// Grants, limits and undo go by tool.Call.Session. It is one per Serve, one
// per MCP session over HTTP, and one per bearer token where the protocol has
// no sessions. The names are derived from ids and tokens, and do not give
// them away.
//
// # When a person is asked
//
// A Relay among the approvers tells the server that a call waits for a
// person, and passes the question to clients that can put it to their user
// (elicitation). Such an answer is the client's word, no proof of a person,
// so policy says for which plans it is enough (Question.Relay); every other question
// goes to Relay.Next.
//
// A client that asked for progress hears of a waiting call at once and every
// Config.Progress from then on. After Config.Wait, or at once where no
// progress was asked for, the call is answered with a line of JSON that has
// "pending" and an id; the tool await_result gives what the call came to. The
// call itself goes on until it is decided, cancelled, or its client is gone.
package mcpserver
