package wire

import (
	"encoding/json"

	"github.com/stet-dev/stet/files/approval"
)

// Version is the version of the protocol.
const Version = 1

// Frame is one message: a pointer to one of the types of this package. A string in it has at most 256 bytes, or as many as the tag max
// says ("-": no limit of its own), and a list at most 1,000 entries: see limits.Strings.
type Frame interface{ frame() *shape }

// Roles of a connection.
const (
	Agent = "agent" // makes calls
	Host  = "host"  // has a workspace, and runs calls
)

// Capabilities say what an end of a session understands beyond calls and results. Each end sends only what the other end has named.
const (
	CanResume   = "resume"   // the session outlives a connection: see Hello.Resume
	CanCancel   = "cancel"   // a host ends a call when the gateway says so
	CanProgress = "progress" // progress frames
	CanParts    = "parts"    // part and taken frames
	CanAsk      = "approval" // approval frames: the gateway has people who answer
	CanEvents   = "event"    // event frames
	CanRepeat   = "repeat"   // a host answers a repeated write from its record
	CanAdmit    = "admit"    // a host shows a question after the gateway has said by a progress frame that its call waits
)

// Hello is the first frame of either side; the client sends it first. The gateway's answer has the version, capabilities and limits
// that hold from then on.
type Hello struct {
	Version      int      `json:"version" jsonschema:"protocol version: 1"`
	Role         string   `json:"role,omitempty" jsonschema:"of a client: agent or host"`
	Client       string   `json:"client,omitempty" jsonschema:"what the client calls itself, for the audit trail"`
	Capabilities []string `json:"capabilities,omitempty" jsonschema:"resume, cancel, progress, parts, approval, event, repeat, admit"`
	Workspace    string   `json:"workspace,omitempty" jsonschema:"of a host: the name it is called by; of an agent: where its calls go"`
	Session      string   `json:"session,omitempty" jsonschema:"client session; of a client it may be left out"`
	Tools        []Tool   `json:"tools,omitempty" jsonschema:"of a host"`

	Resume   string `json:"resume,omitempty" jsonschema:"of the gateway: secret by which the session is resumed; of a client: the session to resume"`
	Received uint64 `json:"received,omitempty" jsonschema:"number of frames received in the session so far, without hello and ack"`
	Resumed  bool   `json:"resumed,omitempty" jsonschema:"of the gateway: the session goes on"`

	Limits *Limits `json:"limits,omitempty" jsonschema:"of the gateway"`

	BeatSeconds int `json:"beat_seconds,omitempty" jsonschema:"of the gateway, in a session that can be resumed: it says something that often, an ack if nothing else"`
}

// Limits are the limits of the gateway.
type Limits struct {
	FrameBytes     int `json:"frame_bytes" jsonschema:"largest frame"`
	CallsInFlight  int `json:"calls_in_flight" jsonschema:"of one session at once; further ones wait"`
	BytesInFlight  int `json:"bytes_in_flight" jsonschema:"of one workspace at once; further ones wait"`
	CallsPerMinute int `json:"calls_per_minute" jsonschema:"of one session; further ones are rate_limited; 0 is any number"`
	ContentBytes   int `json:"content_bytes" jsonschema:"of a content in parts"`
}

// Tool describes a tool of a host.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty" max:"-"`
	Schema      json.RawMessage `json:"schema" jsonschema:"JSON Schema of the arguments"`
	ReadOnly    bool            `json:"read_only,omitempty" jsonschema:"it changes nothing"`
	Destructive bool            `json:"destructive,omitempty" jsonschema:"it may overwrite or remove what is there"`
}

// ToolCall asks the host to run a tool.
type ToolCall struct {
	CallID               string          `json:"call_id" jsonschema:"unique in the session"`
	ToolName             string          `json:"tool_name"`
	Arguments            json.RawMessage `json:"arguments" jsonschema:"JSON object"`
	RequiresConfirmation bool            `json:"requires_confirmation" jsonschema:"a person has to be asked; set by the gateway"`

	TimeoutSeconds         int    `json:"timeout_seconds,omitempty" jsonschema:"30 if left out, 86400 at most; time spent waiting for a person does not count"`
	ApprovalTimeoutSeconds int    `json:"approval_timeout_seconds,omitempty" jsonschema:"600 if left out, 86400 at most: how long a person may take"`
	Session                string `json:"session,omitempty" jsonschema:"to a host: whose call it is; from an agent: one of several sessions on its connection"`
	Client                 string `json:"client,omitempty" max:"4096" jsonschema:"to a host: who calls, as it calls itself"`
	PartsFollow            bool   `json:"parts_follow,omitempty" jsonschema:"the argument content is left out and comes in parts"`
	TakesParts             bool   `json:"takes_parts,omitempty" jsonschema:"to a host: a content that is too large for a frame may come in parts, before the result"`
	Absolute               bool   `json:"absolute,omitempty" jsonschema:"to a host: an absolute path that leads into the workspace is taken; the gateway does not pass it on from agents"`
}

// ToolResult is the result of a call. With NeedsConfirmation it says that the call waits for a person, and that another ToolResult
// will follow.
type ToolResult struct {
	CallID            string          `json:"call_id"`
	Result            json.RawMessage `json:"result,omitempty" jsonschema:"JSON object: a FileOperationResult, or the envelope of Read"`
	Error             string          `json:"error,omitempty" jsonschema:"code, when the call failed"`
	NeedsConfirmation bool            `json:"needs_confirmation" jsonschema:"it waits for a person; the result follows"`
}

// Cancel ends a call. An agent sends it to the gateway, and the gateway to the host. The call still gets its result.
type Cancel struct {
	CallID string `json:"call_id"`
	Reason string `json:"reason,omitempty" jsonschema:"caller, timeout or lost"`
}

// States of a call that is under way.
const (
	Working = "working"
	Waiting = "waiting" // for a person
)

// Progress says what a call is doing. The call's clock stops while it is Waiting. To a host it says that the call may wait: its question
// is within the limit of its token.
type Progress struct {
	CallID  string `json:"call_id"`
	State   string `json:"state" jsonschema:"working or waiting"`
	Message string `json:"message,omitempty" max:"16384"`
}

// Part is a piece of content that is too large for one frame. The parts of a read come before its result, which then has no
// content. The parts of a write come after its call. At most PartsAhead parts of a content may be sent that are not Taken.
type Part struct {
	CallID string `json:"call_id"`
	Seq    int    `json:"seq" jsonschema:"from 0, without gaps"`
	Data   []byte `json:"data" jsonschema:"base64 of UTF-8, up to 131072 bytes"`
	Last   bool   `json:"last" jsonschema:"no more follow"`
}

// PartBytes is the limit of a part's bytes. Only the last part may be empty.
const PartBytes = 128 << 10

// PartsAhead is how many parts may be sent that are not yet taken.
const PartsAhead = 4

// Taken tells the sender of parts that they were taken.
type Taken struct {
	CallID string `json:"call_id"`
	Seq    int    `json:"seq" jsonschema:"of the last part that was taken: four more may be on their way"`
}

// Approval is about a question to a person. A host asks the gateway's people with Question, and gets the Answer, or Error with its
// Code, under the same ID. Withdrawn ends the question.
type Approval struct {
	ID        string             `json:"id"`
	CallID    string             `json:"call_id,omitempty"`
	Question  *approval.Question `json:"question,omitempty"`
	Answer    *approval.Answer   `json:"answer,omitempty"`
	Withdrawn bool               `json:"withdrawn,omitempty"`
	Error     string             `json:"error,omitempty" max:"16384" jsonschema:"for people"`
	Code      string             `json:"code,omitempty" jsonschema:"with error: timeout, permission_denied if no person can be asked, rate_limited where too many questions are open, or another code of a failed call"`
}

// Events.
const (
	HostUp   = "host_up"     // Workspace can be called, and has Tools
	HostDown = "host_down"   // Workspace cannot be called for now
	Draining = "draining"    // the gateway ends soon and takes no more calls
	Ended    = "session_end" // to a host: Session is over, and so are its grants
)

// Event reports something that is not an answer.
type Event struct {
	Event     string `json:"event" jsonschema:"host_up, host_down, draining or session_end"`
	Workspace string `json:"workspace,omitempty"`
	Session   string `json:"session,omitempty" jsonschema:"of session_end"`
	Tools     []Tool `json:"tools,omitempty"`
	Message   string `json:"message,omitempty" max:"16384"`
}

// Error answers a frame that could not be understood or done. Decode returns it, too.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message" max:"16384"`
	CallID  string `json:"call_id,omitempty" jsonschema:"where it is about a call"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Ack says how many frames were received in the session, without hello and ack. The other side no longer needs to keep them for a
// resume.
type Ack struct {
	Received uint64 `json:"received"`
}
