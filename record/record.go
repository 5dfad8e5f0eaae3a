// Package record keeps the account of stet's own work. A [Store] keeps a row for each request that went through the proxy:
// its usage, what was left out of it, and why. A [Trail] is the audit trail: what was done to files, and who decided it. A
// [Journal] writes to it.
//
// A row never holds a key, the content of a message or the content of a file. Rows hold names and hashes of files, and
// hashes of conversations. They hold the names that agents put into headers for the session and the sub-agent, and which
// known agent a client seems to be. They hold names and sizes of tools. From a call's arguments they hold the paths of the
// files only.
//
// The drivers are in store/*. Package recordtest keeps all of it in memory, and has the suites that every driver
// passes.
package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
)

// CountTokens is the value of [Request.API] for a request that only counts tokens, of any API. It has no usage.
const CountTokens = "count_tokens"

// Request is one request to a model's endpoint.
type Request struct {
	// ID is the row's key. The writer chooses it, and never uses it twice. Append drops a row whose ID is stored already.
	// So an Append whose outcome is unknown can be repeated.
	ID   string
	Time time.Time // when the request arrived; stores keep microseconds, in UTC

	Conversation string // the agent's name for the session, or else the writer's name for the conversation; never empty
	// Root is the conversation that this one is a part of: it was forked from it, or is a sub-agent of it. Empty: it is none of both.
	Root string
	// Holdout is the conversation's group in the holdout: HeldOut, Treated or empty. It is the same for all requests of a Root.
	Holdout  string
	Agent    string // the agent's name for the sub-agent; empty: the main agent
	Client   string // which agent the client seems to be; a guess; may be empty
	API      string // the name of an llm.API, or CountTokens
	Model    string // as the request named it
	Upstream string // host (and port) that answered
	Project  string // the directory that the agent works in, as it names it; empty: it is not known

	Status  int    // HTTP status that the client got; 0 if the client went away before
	Policy  string // the trimming policy
	Observe bool   // a plan was made, but the request was sent unchanged
	Passed  string // why no plan was made ("malformed", "incomplete", …); empty: a plan was made
	Cut     bool   // the response ended before it was complete

	BytesIn  int64 // size of the body that the client sent
	BytesOut int64 // size of the body that was sent upstream

	// TokensOff is the estimated size in tokens of the prompt that the client sent. Tokens is the estimate after the plan.
	// They are equal if nothing was left out. Both are zero for CountTokens and if no plan was made.
	TokensOff, Tokens int

	Usage Usage // as the provider reported it; zero: the provider reported none

	Reads    int // successful reads of files in the request
	Repeats  int // those reads whose lines were all in the request already
	Dangling int // lines in place of content which is nowhere in the request
	Trimmed  int // results that were shortened

	Added time.Duration // time that stet itself took before the request went upstream

	ToolSet uint64 // the ID of the request's ToolSet; 0: it offers no tools, or they were not read

	Cache Cache
}

// The values of [Request.Holdout]. It is empty if there was no holdout when the conversation began, or the agent does not name it.
const (
	HeldOut = "held out" // nothing is left out of the conversation
	Treated = "treated"
)

// Tree is the conversation at the root: Root, or else Conversation.
func (r *Request) Tree() string { return cmp.Or(r.Root, r.Conversation) }

// Beside reports whether r is no part of the conversation that an earlier request of it belongs to: it goes on from no other, and is shorter, for
// another model. Agents ask small models for titles and the like.
func (r *Request) Beside(earlier *Request) bool {
	return r.Cache.Gap == 0 && r.Model != earlier.Model && r.Usage.Prompt() < earlier.Usage.Prompt()
}

// Newest returns the newest request with usage of each conversation, for requests in the order of time. Those of sub-agents, and those beside
// the conversation, do not count. The conversation that was used last is first.
func Newest(requests []Request) (all []*Request) {
	at := map[string]int{}
	for i := range slices.Backward(requests) {
		r := &requests[i]
		if r.Agent != "" || r.Usage.Prompt() == 0 {
			continue
		}
		k, known := at[r.Conversation]
		switch {
		case !known:
			at[r.Conversation] = len(all)
			all = append(all, r)
		case all[k].Beside(r):
			all[k] = r
		}
	}
	return all
}

// Cache is what is known about the provider's prompt cache at a request.
type Cache struct {
	Gap      time.Duration // time since the last answer in the conversation; 0 for its first request
	Lifetime time.Duration // assumed lifetime of the cache, by the request's own markers or the provider's default
	Moment   string        // why stet assumed that the cache was cold ("gap", "guess", "model", …); empty: it did not
	// Alive says that Moment is not empty, but the provider's answer showed that the cache was still there.
	Alive bool

	// Broke is the first part of the prompt, in the provider's order, that differs from what the conversation's last
	// request sent there. It is one of the Broke constants. If stet sees no difference, or knows no earlier request, it is
	// the provider's reason for the miss. Empty: none.
	Broke string
	// BrokeAt is the number of the message, counted from 0 with the system text, if Broke is BrokeMessage or BrokeStet. It
	// is -1 if the provider does not say which message.
	BrokeAt int
}

// The values of [Cache.Broke].
const (
	BrokeModel   = "model"
	BrokeTools   = "tools"
	BrokeSystem  = "system"
	BrokeMessage = "message"
	BrokeStet    = "stet"   // an unchanged message that stet sent in another way: at a cold point or a warm break
	BrokeMarker  = "marker" // no marker is at a place where the provider would find what the last request's markers had stored

	// Only a provider gives these two.
	BrokeContext  = "context"  // the context was compacted
	BrokeSettings = "settings" // the cache key, the service tier, the effort, or another setting
)

// Usage is the usage of a request, in tokens.
type Usage = llm.Usage

// ThreadTurns is the number of the newest turns of a thread that Store.Turns returns.
const ThreadTurns = 500

// Turn is a request that was answered. It holds what is needed to recognise and plan later requests that begin with its
// messages.
type Turn struct {
	// Prefix is a hash of the conversation's messages, up to the model's newest message in the request. It is the same in every
	// process. With Model, System and Tools it is the key.
	Prefix       uint64
	Conversation string    // as Request.Conversation
	Thread       uint64    // the same in all turns of a conversation and of what was forked from it
	Time         time.Time // when the answer ended; stores keep microseconds, in UTC

	Model         string
	System, Tools uint64        // hashes; of an earlier request, if this one can still read that request's cache
	Lifetime      time.Duration // of the cache, see Cache.Lifetime
	// Account is what planning at cold points has saved in the conversation so far, in plain input tokens. A negative value
	// is a cost.
	Account int
}

// Trim is one result, or a call's arguments, that was shortened. It is written once, with the first request in which it was
// shortened. Later requests in which it stays shortened add no row.
type Trim struct {
	Request      string // Request.ID
	Time         time.Time
	Conversation string
	CallID       string   // the tool call whose result or arguments were shortened
	Paths        []string `max:"4096"` // the files whose content was left out; nil: none is known
	Reason       string   // a trim.Reason
	Before       int      // size of the text in bytes
	After        int
	Observe      bool // the plan was only made, and not applied
}
