// Package transcript reads the session files of other agents as llm messages.
//
// [Opener.Open] recognises the format of a file by its content, and returns the conversations in it. [Opener.Walk] does the
// same for all files of directory trees. [Find] returns where agents keep their sessions on this machine. A reader returns
// what was sent to the model, and the model's answers, in the order in which they were sent. What the agent only shows to
// its user is left out or Local. Lines that cannot be read are skipped and listed. They are not an error.
//
// All functions may be called concurrently.
package transcript

import (
	"errors"

	"github.com/stet-dev/stet/llm"
)

// Errors of this package. They are wrapped, with the name of the file.
var (
	// ErrFormat means that a file is in an unknown format.
	ErrFormat = errors.New("not a session file of a known agent")
	// ErrEmpty means that a file has the form of a session, but no message that can be read.
	ErrEmpty = errors.New("no messages")
)

// Session is one recorded conversation.
type Session struct {
	ID      string
	File    string // path of the file that it was read from
	Format  string // "claude-code-jsonl", "codex-rollout", …
	Product string // the agent that writes the format, for people: "Claude Code", …
	Agent   string // version of the agent, if the file has it
	Model   string // the model that answered most turns
	Dir     string // the working directory of the agent: the workspace root

	// Parent is set for the conversation of a sub-agent. It is the ID of the conversation that started this one.
	Parent string

	// Messages is the conversation. Let i be the index of an Assistant message that is neither Local nor Carried. It is the
	// answer to a request with Messages[s:i], without the Local ones. s is the last of Starts that is ≤ i, or 0.
	Messages []llm.Message

	// Starts has the indexes in Messages at which the agent began a new context (its own compaction). The system text at
	// the head of the recording is repeated after each of them.
	Starts []int

	// Carried has the indexes of Assistant messages that are not the answer to a request: those that the agent took along
	// into a new context, where they are in Messages a second time, and examples in a prompt.
	Carried []int

	// HasSystem says that the recording has the system prompt, in messages of role System. Descriptions of tools are not
	// read.
	HasSystem bool

	Damaged []Damage // lines that could not be read and were left out

	// Answers are all answers that were charged, each once, in the order of time. Those of Messages are among them.
	Answers []Answer

	// HidesOutput says that the usage of an answer may be that of the start of its stream, with little of its output.
	HidesOutput bool

	// UnknownUsage has the keys of usage that the reader does not know, and how often they have a number.
	UnknownUsage map[string]int

	// Forks has the ids of the sessions that this one was forked from, as far as the file names them.
	Forks []string

	shares   map[int]*llm.Usage // by message: its part of the usage that the file has for several answers
	newIDs   bool               // a fork gives its copies of answers new ids
	byFamily bool               // a fork gives its copies of answers a new time, too
}

// Damage is a line that was skipped.
type Damage struct {
	Line   int // number of the line, from 1; 0: the format has no lines
	Reason string
}
