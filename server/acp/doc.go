// Package acp offers the agent to editors with the Agent Client Protocol, version 1: JSON-RPC on standard input and output, with
// one message on each line.
//
// The SDK encodes the messages, and has the types of the protocol. A lineReader in front of it answers lines that are not
// messages. A lineWriter after it counts the requests without a response. This package decides the following:
//
//   - A session of the protocol is a stored conversation, in the directory that the editor names. session/load also shows the
//     messages before a compaction. session/list and session/resume are supported.
//   - Files are written only by the agent's own tools. Writes are confined to the workspace, compared with the version that was
//     read, and recorded. fs/write_text_file is never used: it has no audit trail, no undo and no comparison. Editors see the
//     change on disk like any other change.
//   - If the editor offers fs/read_text_file, it is asked for its buffer at every read of a file. The result has the text on
//     disk, and the unsaved changes as a diff. The agent has then seen the version on disk. A write to a file with unsaved
//     changes is refused: either the editor's next save would undo the write, or the write would undo the person's work. Calls
//     that name no file, such as undo, are not compared with a buffer.
//   - An answer in the editor is relayed by a client: it is enough only if approval.Question.Relay says so. Every other question
//     waits for the next approver, and the editor shows that.
//   - The MCP servers that the editor names for a session are connected while the person types, and end with the session. The
//     first prompt waits for them. Their effects are not confined and cannot be undone. So a person is asked about each call of a
//     tool that its server does not declare as read-only, also in the mode "accept edits". If a server is missing, the person is
//     informed, and the agent works without it.
//   - Additional directories next to the working directory are not opened. The session reports that, and the request is not refused.
//
// The end of input cancels running turns. Requests before the end of input are still answered.
package acp
