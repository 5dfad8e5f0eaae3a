// Package record has what stet writes down about its own work. A [Store] keeps a row
// for each request that went through the proxy: what it used, and what was left out of
// it and why. A [Trail] is the audit trail of what was done to files, and who decided
// it; a [Journal] writes to it.
//
// No key, no content of a message and no content of a file is ever in a row. Rows have
// the names and hashes of files, and hashes of conversations. They have the names that
// agents put into headers for the session and the sub-agent, and which known agent a
// client seems to be. They have names and sizes of tools. Of a call's arguments they have the paths of the files.
//
// [Memory] keeps all of it in memory; drivers live in store/*. Package recordtest has
// the suites that every driver passes.
package record

import (
	"time"

	"github.com/stet-dev/stet/llm"
)

// The values of [Request.API].
const (
	Messages    = "messages"     // POST /v1/messages
	CountTokens = "count_tokens" // POST /v1/messages/count_tokens, and /v1beta/models/MODEL:countTokens: nothing is used by it
	Chat        = "chat"         // POST /v1/chat/completions
	Responses   = "responses"    // POST /v1/responses

	GenerateContent = "generate_content" // POST /v1beta/models/MODEL:generateContent, and its streamed form
)

// Request is one request to a model's endpoint.
type Request struct {
	// ID is the row's key, chosen by the writer and never used twice. Rows
	// that are appended again under the same ID are dropped, so that an
	// Append whose outcome is unknown can be repeated.
	ID   string
	Time time.Time // when it arrived; stores keep microseconds, in UTC

	Conversation string // the agent's name for the session, else the writer's for the conversation; never empty
	Agent        string // the agent's name for the sub-agent; empty is the main agent
	Client       string // who seems to be asking; a hint, may be empty
	API          string // Messages, CountTokens, Chat, Responses or GenerateContent
	Model        string // as the request named it
	Upstream     string // host (and port) that answered

	Status  int    // HTTP status that the client got; 0 when it went away before
	Policy  string // the trimming policy
	Observe bool   // the plan was only made, the request went out untouched
	Passed  string // why nothing was planned at all ("malformed", "incomplete", …); empty when a plan was made
	Cut     bool   // the response ended before its end

	BytesIn  int64 // the request's body as the client sent it
	BytesOut int64 // as it was sent upstream

	// TokensOff is the estimated size of the prompt as the client sent it, Tokens
	// as the plan leaves it. They are equal where nothing was left out,
	// and zero under CountTokens and where no plan was made.
	TokensOff, Tokens int

	Usage Usage // as the provider reported it; zero when it said nothing

	Reads    int // successful reads of files in the request
	Repeats  int // of these, whose lines were all in view already
	Dangling int // lines that stand for content found nowhere in the request
	Trimmed  int // results that were shortened

	Added time.Duration // stet's own time before the request went upstream

	ToolSet uint64 // the ID of its ToolSet; 0: it offers no tools, or they were not read

	Cache Cache
}

// Cache is what is known of the provider's prompt cache at a request.
type Cache struct {
	Gap      time.Duration // since the last answer in the conversation; 0 for its first request
	Lifetime time.Duration // that the cache was taken to have, by the request's own markers or the provider's default
	Moment   string        // why the cache was taken for cold ("gap", "model", "tools", …); empty: it was not
	// Alive: the answer showed that the cache was alive at a "gap".
	Alive bool

	// Broke is the first part of the prompt, in the provider's order, that is not
	// what the conversation's last request had there as it was sent: one of the
	// Broke constants. Where stet sees no difference, or knows no earlier request,
	// it is what the provider's answer gives as the reason of a miss; empty: none.
	Broke string
	// BrokeAt is the message, counted from 0 with the system text, where Broke is
	// BrokeMessage or BrokeStet; -1 where the provider does not say which.
	BrokeAt int
}

// The values of [Cache.Broke].
const (
	BrokeModel   = "model"
	BrokeTools   = "tools"
	BrokeSystem  = "system"
	BrokeMessage = "message"
	BrokeStet    = "stet"   // a message as before, which stet sent in another way: at a cold point or a warm break
	BrokeMarker  = "marker" // no marker from which the provider would find what the last request's markers had stored

	// These two are said by a provider alone.
	BrokeContext  = "context"  // the context was compacted
	BrokeSettings = "settings" // the cache key, the service tier, the effort, or another setting
)

// Usage is what a request used, in tokens.
type Usage = llm.Usage

// Turn is a request that was answered, known again by what it was made of, and
// what is needed to plan the requests that begin like it.
type Turn struct {
	// Prefix is the key: a hash of the conversation's messages, up to the newest of
	// the model's in the request, and of Model; the same in every process.
	Prefix       uint64
	Conversation string    // as Request.Conversation
	Thread       uint64    // the Prefix of the first that it goes on from, or forks from; 0: it is not known
	Time         time.Time // of the end of the answer; stores keep microseconds, in UTC
	// Moment is why the provider's cache was taken for cold; empty: it was not. Once set it
	// stays.
	Moment string

	Model         string
	System, Tools uint64        // hashes; of a request before, whose cache this one reads all the same
	Lifetime      time.Duration // of the cache, as Cache.Lifetime
	// Account is what planning at such moments has brought the conversation so
	// far, in plain input tokens; negative: it cost more than it saved.
	Account int
	// Elided says what such moments have left out, where that changed with this request;
	// nil: it did not. They are hashes of results and of calls' arguments, and of some of
	// the messages, up to which all else was sent whole. Once set they stay, but for others.
	Elided []uint64
}

// Trim is one result, or a call's arguments, that was shortened. What stays
// shortened in the requests after is written once, with the request that began it.
type Trim struct {
	Request      string // Request.ID
	Time         time.Time
	Conversation string
	CallID       string   // the tool call whose result, or whose arguments, it is
	Paths        []string // the files whose content was left out; nil when none is known
	Reason       string   // a history.Reason
	Before       int      // bytes of the text
	After        int
	Observe      bool // it was only planned
}
