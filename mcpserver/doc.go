// Package mcpserver gives the tools of a tool.Caller to MCP clients, over
// stdio and over streamable HTTP, in the protocol's revisions 2025-06-18 and
// 2025-11-25 (sessions) and 2026-07-28 (stateless).
//
// # Results
//
// Arguments go to the Caller as they came. The Caller's result goes back as one
// text, content[0].text, and isError says whether the call failed. There is no
// structuredContent: it would be the same content a second time.
//
// # Client sessions
//
// Grants, limits and undo belong to tool.Call.Session. It is one per Serve, one
// per MCP session over HTTP, and one per bearer token where the protocol has
// no sessions. The names are hashes of ids and tokens.
//
// # stdio
//
// Serve uses the SDK's transport. A lineReader before it refuses lines that are
// no messages, a lineWriter behind it writes without holding up the callers,
// and connection keeps the order of requests and their number in bounds.
//
// # When a person is asked
//
// A Relay among the approvers tells the server that a call waits for a person,
// and passes the question to clients that can ask their user (elicitation).
// Such an answer is the client's word and no proof of a person. So policy says
// for which plans it is enough (Question.Relay); every other question goes to
// Relay.Next.
//
// A client that asked for progress gets it when a call begins to wait, and every
// Config.Progress from then on. After Config.Wait, or at once if the client
// asked for no progress, the call is answered with a line of JSON that has
// "pending"; the tool await_result takes that value and gives the result. The call itself
// goes on until it is decided, cancelled, or its client is gone.
package mcpserver
