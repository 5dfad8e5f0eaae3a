// Package acp offers the agent to editors by the Agent Client Protocol,
// version 1: JSON-RPC on standard input and output, a message a line.
//
// The SDK has the framing and the words of the protocol. What is decided here:
//
//   - A session of the protocol is a stored conversation, in the directory that
//     the editor names. session/load shows what was said before a compaction
//     too; session/list and session/resume are there.
//   - Files are written by the agent's own tools, confined, checked against what
//     is on disk and recorded, never by fs/write_text_file: that would leave out
//     the trail, undo and the comparison with what was read. Editors notice the
//     change on disk as they notice any other.
//   - Where the editor offers fs/read_text_file, it is asked for its buffer
//     beside every read of a file. The result tells what is on disk, whose
//     version the agent then knows, and the unsaved changes as a diff: both are
//     true. A write to a file with unsaved changes is refused, since the
//     editor's next save would undo it, or it would undo the editor's work.
//     Calls that name no file, such as undo, are not compared.
//   - An answer in the editor is one that a client relays: it counts where
//     approval.Question.Relay says so. All else waits for the next approver,
//     and the editor says so.
//   - The MCP servers that the editor names for a session are connected to while
//     the person types, and end with it. The first prompt waits for them. What
//     they do is not confined and cannot be taken back: each call that its server
//     does not call read-only is asked about, in the mode in which edits are
//     accepted too. A server that is not there is told of, and done without.
//   - Roots beside the working directory are not opened. The person is told;
//     nothing is refused for it.
//
// A client that asks for something that cannot be had gets an error in words.
// The end of what comes in cancels the turns that are under way; requests that
// came before it are still answered.
package acp
