// Package mcpserver offers the tools of a tool.Caller to MCP clients, over stdio and over streamable HTTP. It supports the
// protocol revisions 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25, and 2026-07-28, which has no sessions. A line or
// a request over HTTP has one message: the batches of the first two revisions are refused.
//
// # Results
//
// Arguments are passed to the Caller unchanged. The Caller's result is returned as one text, content[0].text. isError says
// whether the call failed. There is no structuredContent, because it would repeat the content.
//
// # Client sessions
//
// Grants, limits and undo belong to tool.Call.Session. There is one for each Serve, one for each MCP session over HTTP, and one
// for each bearer token if the protocol has no sessions. Their names are hashes of ids and tokens.
//
// # stdio
//
// Serve uses the SDK's transport. A lineReader in front of it refuses lines that are not messages. A lineWriter after it writes
// one line at a time, and ends the session of a client that does not read. A connection keeps requests in order and limits their number.
//
// # When a person is asked
//
// A Relay among the approvers reports to the server that a call waits for a person. If the client can ask its user (elicitation), the
// Relay passes the question to the client. An answer from the client does not prove that a person has answered. So policy decides
// for which plans such an answer is enough (Question.Relay). All other questions go to Relay.Next.
//
// If the client asked for progress, it gets progress when a call starts to wait, and then every Config.Progress. After
// Config.Wait, or at once if the client asked for no progress, the call is answered with a line of JSON that has the member
// "pending". The tool await_result takes its value and returns the result. The call itself continues until it is decided or
// cancelled, or until the client disconnects.
package mcpserver
