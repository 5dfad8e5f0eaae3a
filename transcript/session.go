// Package transcript reads the session files of other agents as llm messages.
//
// [Opener.Open] tells the format of a file by its content and returns the
// conversations in it; [Opener.Walk] does so for whole trees of files; [Find] says
// where agents keep their sessions on this machine. A reader keeps what was
// sent to the model, and its answers, in the order of the wire: what the agent
// shows to its user only is left out or Local. Lines that cannot be read are
// skipped and listed, never fatal.
//
// All functions may be called concurrently.
package transcript

import (
	"errors"

	"github.com/stet-dev/stet/llm"
)

// The sentinels. They come wrapped, with the name of the file.
var (
	// ErrFormat says that a file is in none of the formats.
	ErrFormat = errors.New("not a session file of a known agent")
	// ErrEmpty says that a file has the shape of a session, and no message
	// that can be read.
	ErrEmpty = errors.New("no messages")
)

// Session is one recorded conversation.
type Session struct {
	ID     string
	File   string // where it was read from
	Format string // "claude-code-jsonl", "codex-rollout", …
	Agent  string // version of the agent, where the file says it
	Model  string // the model that answered most turns
	Dir    string // the working directory of the agent: the workspace root

	// Parent is the ID of the conversation that started this one, for the
	// conversation of a sub-agent.
	Parent string

	// Messages is the conversation. For every Assistant message that is
	// neither Local nor Carried, at index i, the request it answered is
	// Messages[s:i] without the Local ones, s being the last of Starts ≤ i.
	Messages []llm.Message

	// Starts has the indexes of Messages at which the agent restarted its context (its own compaction): the request whose answer is
	// Messages[i] held Messages[s:i], where s is the last of Starts that is ≤ i, or 0. System text recorded at the head is repeated
	// after a start.
	Starts []int

	// Carried holds the indexes of Assistant messages that the agent took
	// along into a new context. They stand a second time, after a start, and
	// answer no request there.
	Carried []int

	// HasSystem says that the recording carries the system prompt, as
	// messages of role System. Descriptions of tools are never recorded in a
	// way that could be kept here.
	HasSystem bool

	Damaged []Damage // lines that could not be read and were left out
}

// Damage is a line that was skipped.
type Damage struct {
	Line   int // 1-based; 0 where the format has no lines
	Reason string
}
