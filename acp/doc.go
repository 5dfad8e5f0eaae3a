// Package acp offers the agent to editors by the Agent Client Protocol,
// version 1: JSON-RPC on standard input and output, a message a line.
//
// The SDK frames the messages, and has the types of the protocol. A lineReader
// before it answers lines that are no messages, and a lineWriter behind it counts
// the requests that wait for their response. This package decides:
//
//   - A session of the protocol is a stored conversation, in the directory that
//     the editor names. session/load shows what was said before a compaction
//     too; session/list and session/resume are there.
//   - Files are written by the agent's own tools: confined, compared with the
//     version that was read, and recorded. fs/write_text_file is never used: it
//     would leave out the audit trail, undo and the comparison. Editors see the
//     change on disk like any other.
//   - If the editor offers fs/read_text_file, it is asked for its buffer at every
//     read of a file. The result has the text on disk, whose version the agent
//     then knows, and the unsaved changes as a diff. A write to a file with
//     unsaved changes is refused: the editor's next save would undo it, or it
//     would undo the person's work. Calls that name no file, such as undo, are
//     not compared.
//   - An answer in the editor is relayed by a client: it counts where
//     approval.Question.Relay says so. Every other question waits for the next
//     approver, and the editor says so.
//   - The MCP servers that the editor names for a session are connected to while
//     the person types, and end with the session. The first prompt waits for
//     them. Their work is not confined and cannot be undone: each call that its
//     server does not call read-only is asked about, also in the mode in which
//     edits are accepted. The person is told of a server that is missing, and the
//     agent works without it.
//   - Roots beside the working directory are not opened. The person is told, and
//     the request is not refused.
//
// The end of input cancels the turns at work; requests that came before it are
// still answered.
package acp
