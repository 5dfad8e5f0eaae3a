package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// internalError is the error code of a result when something broke.
const internalError tool.Code = "internal_error"

// usualTimeout and usualApproval are the time limits of a call that names none. settling is how long a host may take to report the
// result of a call that it was asked to end.
const (
	usualTimeout  = 30 * time.Second
	usualApproval = 600 * time.Second
	settling      = 2 * time.Second
)

// longest is the maximum time limit of a call; a longer limit is reduced to this.
const longest = 24 * time.Hour

// call is one call on its way through the hub. A caller waits for its result. It came from an agent, from plain HTTP or from this
// process.
type call struct {
	h    *Hub
	f    wire.ToolCall // the frame for the host, with an id that is unique in the gateway
	to   string        // the workspace
	spec wire.Tool
	who  Identity // the caller; zero: this process
	// account is the account of the caller's token; "": none. The account's limits apply together with the session's limits.
	account string
	// takesParts says that the caller accepts content in parts.
	takesParts bool

	frame  *wire.ToolCall // to be sent again while the host moves; nil once the host has begun the call, or if the call must not be repeated
	giveUp time.Time      // the time after which it is not sent again

	unsaid bool // the trail already has an entry for an earlier call that was refused in the same way

	// tell is called with each frame about the running call, done with its result. Neither may wait. They may change the frames,
	// except the payload. The call id in these frames is not the caller's.
	tell func(wire.Frame)
	// The callee calls release when it no longer holds the result.
	done func(r *wire.ToolResult, release func())

	mu      sync.Mutex
	state   callState
	path    string // the path in the arguments, kept after the arguments are dropped
	slot    *slot
	timer   *time.Timer
	clock   int           // number of the current timer; a timer that was stopped too late has an older number
	left    time.Duration // time left of the call's own limit, measured at since
	since   time.Time
	waiting bool    // waits for a person
	asked   func()  // counts the end of its question; nil: it has none
	why     *reason // why the host was asked to end the call; nil: it was not

	up, down stream       // the content to the host, and from the host
	held     []*wire.Part // parts that came before the call was sent
	flows    bool         // parts are forwarded to the host as they arrive

	requestBytes func()       // gives back the bytes of the call itself; nil: none are taken
	answerBytes  []func()     // give back the bytes taken for the result
	hasBytes     bool         // bytes are taken for content in parts
	gathered     wire.Content // the result's content, for a caller that takes no parts

	ended context.Context // done when the call is over
	over  context.CancelFunc
}

// newCall returns a call of a client with a token, under an id that is unique in the gateway. session and id are the client's
// names.
func (h *Hub) newCall(f wire.ToolCall, who Identity, session, id, workspace string) *call {
	f.Session = who.sessionOf(session)
	f.CallID = f.Session + "/" + id
	if len(f.CallID) > limits.Name {
		f.CallID = fmt.Sprintf("%s/%x", f.Session, sha256.Sum256([]byte(id)))
	}
	f.Absolute = false
	f.TakesParts = true // forwarded to the client, or joined here
	return &call{h: h, f: f, to: workspace, who: who, account: who.ID}
}

// callState is the progress of a call.
type callState byte

const (
	queued callState = iota // waits for its slot
	sent
	ending // the host was asked to end the call
	finished
)

// reason is why a call ends.
type reason struct {
	code  tool.Code
	words string // a sentence
}

func seconds(n int, usual time.Duration) time.Duration {
	if n <= 0 {
		return usual
	}
	return time.Duration(min(n, int(longest/time.Second))) * time.Second
}

// partsCapacity is the capacity in bytes that a call with content in parts takes among the calls of its workspace. It is larger than the
// parts that are on their way at once. So a workspace cannot have many such calls.
const partsCapacity = 4 << 20

// begin starts the clock, and sends the call when the scheduler admits it.
func (c *call) begin() {
	c.mu.Lock()
	c.ended, c.over = context.WithCancel(c.h.base)
	c.left = seconds(c.f.TimeoutSeconds, usualTimeout)
	c.run(c.left)
	c.mu.Unlock()
	size := len(c.f.Arguments) + 1024
	if c.f.PartsFollow {
		size += partsCapacity
	}
	slot := c.h.calls.schedulerOf(c.to).ask(c.f.Session, size, c.forward)
	c.mu.Lock()
	c.slot = slot
	done, waiting := c.state == finished, c.waiting
	c.mu.Unlock()
	switch {
	case done:
		slot.end()
	case waiting:
		slot.yield()
	}
}

// forward sends the call to its host.
func (c *call) forward() {
	c.mu.Lock()
	if c.state != queued {
		c.mu.Unlock()
		return
	}
	c.state = sent
	f := c.f
	if c.h.shared && !f.PartsFollow {
		c.frame, c.giveUp = &f, time.Now().Add(moveWait)
	}
	c.path, c.f.Arguments = tool.PathIn(c.f.Arguments), nil // the call may wait long, and arguments may be large
	c.mu.Unlock()
	c.dispatch(&f)
}

// dispatch sends the call to its host.
func (c *call) dispatch(f *wire.ToolCall) {
	err := c.send(f)
	switch {
	case errors.Is(err, ErrNoOwner):
		c.again()
	case err != nil:
		c.fail(tool.HostUnavailable, err.Error()+"."+c.unknown())
	case f.PartsFollow:
		c.sendHeld()
	case !c.h.shared:
		c.begun()
	}
}

// How long a call waits for a host that moves from one hub to another, and how often it is sent again meanwhile.
const (
	moveWait  = 5 * time.Second
	moveEvery = 50 * time.Millisecond
)

// callAgain is the reason of the wire.Cancel with which a hub returns a call because its host is moving to another hub. Hosts do
// not send this reason.
const callAgain = "again"

// again sends a call that did not reach the host once more after a short time. The call fails if it must not be repeated.
func (c *call) again() {
	c.mu.Lock()
	if c.state != sent {
		c.mu.Unlock()
		return
	}
	f := c.frame
	if f == nil || time.Now().After(c.giveUp) {
		c.mu.Unlock()
		c.fail(tool.HostUnavailable, c.h.hosts.noHost(c.to))
		return
	}
	c.state = queued
	c.mu.Unlock()
	time.AfterFunc(moveEvery, func() {
		c.mu.Lock()
		waits := c.state == queued
		if waits {
			c.state = sent
		}
		c.mu.Unlock()
		if waits {
			c.dispatch(f)
		}
	})
}

// begun records that the host has received the call.
func (c *call) begun() {
	c.mu.Lock()
	c.frame = nil
	c.mu.Unlock()
	if c.requestBytes != nil && !c.f.PartsFollow {
		c.requestBytes()
	}
}

// run starts the timer for d. The caller holds mu.
func (c *call) run(d time.Duration) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.clock++
	n := c.clock
	c.since = time.Now()
	c.timer = time.AfterFunc(d, func() { c.timeout(n) })
}

// timeout is called when a timer ends. n is the timer's number.
func (c *call) timeout(n int) {
	c.mu.Lock()
	if n != c.clock || c.state == finished {
		c.mu.Unlock()
		return
	}
	state, why, waiting := c.state, c.why, c.waiting
	c.mu.Unlock()
	if state == ending {
		c.fail(why.code, why.words+c.unknown())
		return
	}
	words := fmt.Sprintf("The call took longer than %v.", seconds(c.f.TimeoutSeconds, usualTimeout))
	if waiting {
		words = fmt.Sprintf("No person answered within %v.", seconds(c.f.ApprovalTimeoutSeconds, usualApproval))
	}
	c.end(&reason{tool.Timeout, words})
}

// unknown is the text for a call whose host has not reported a result.
func (c *call) unknown() string {
	if c.spec.ReadOnly {
		return ""
	}
	return " Whether it was done is not known: look before you repeat it."
}

// end tells the host to end the call, and waits a short time for its result.
func (c *call) end(why *reason) {
	c.mu.Lock()
	if c.state == finished || c.state == ending {
		c.mu.Unlock()
		return
	}
	c.why = why
	if c.state == queued {
		c.mu.Unlock()
		c.fail(why.code, why.words+" Nothing was done.")
		return
	}
	c.state = ending
	c.run(settling)
	c.mu.Unlock()
	cause := "caller"
	if why.code == tool.Timeout {
		cause = "timeout"
	}
	if err := c.send(&wire.Cancel{CallID: c.f.CallID, Reason: cause}); err != nil {
		c.fail(why.code, why.words+c.unknown())
	}
}

// send sends a frame about the call to its host.
func (c *call) send(f wire.Frame) error {
	return c.h.bus.Send(workspaceAddress(c.to), Message{From: c.h.address, Frame: f})
}

// cancel ends the call because its caller cancelled it.
func (c *call) cancel() { c.end(&reason{tool.Cancelled, "The call was cancelled."}) }

// fromHost handles a frame of the host about the call.
func (c *call) fromHost(f wire.Frame) {
	if _, back := f.(*wire.Cancel); back { // callAgain
		c.again()
		return
	}
	c.begun()
	switch f := f.(type) {
	case *wire.ToolResult:
		if !awaits(f) {
			c.finish(f)
			return
		}
		if c.wait(true) && c.ask() {
			c.admit()
			c.tell(&wire.ToolResult{NeedsConfirmation: true})
		}
	case *wire.Progress:
		if waiting := f.State == wire.Waiting; c.wait(waiting) && waiting {
			if !c.ask() {
				return
			}
			c.admit()
		}
		own := *f
		c.tell(&own)
	case *wire.Part:
		c.partFromHost(f)
	case *wire.Taken:
		c.takenByHost(f)
	}
}

// awaits reports whether a result says that the call waits for a person and another result follows.
func awaits(r *wire.ToolResult) bool {
	return r.NeedsConfirmation && r.Result == nil && r.Error == ""
}

// wait stops the call's own clock while a person is asked. It reports whether the state changed.
func (c *call) wait(waiting bool) bool {
	c.mu.Lock()
	if c.state != sent || c.waiting == waiting {
		c.mu.Unlock()
		return false
	}
	c.waiting = waiting
	if waiting {
		c.left -= time.Since(c.since)
		c.run(seconds(c.f.ApprovalTimeoutSeconds, usualApproval))
	} else {
		c.run(c.left)
	}
	slot, asked := c.slot, func() {}
	if c.asked != nil && !waiting {
		asked, c.asked = c.asked, nil
	}
	c.mu.Unlock()
	asked()
	if waiting && slot != nil {
		slot.yield()
	}
	return true
}

// ask counts the call as an open question of its token. If the token has too many, the host is asked to end the call and ask returns false.
func (c *call) ask() bool {
	asked, ok := c.h.config.Tokens.Ask(c.account)
	if !ok {
		c.end(&reason{tool.RateLimited, limits.ManyQuestions})
		return false
	}
	c.mu.Lock()
	over := c.state == finished
	if !over {
		c.asked = asked
	}
	c.mu.Unlock()
	if over {
		asked()
	}
	return true
}

// admit tells the host that it may ask a person.
func (c *call) admit() {
	if err := c.send(&wire.Progress{CallID: c.f.CallID, State: wire.Waiting}); err != nil {
		c.h.log.Warn("not sent", "workspace", c.to, "call", c.f.CallID, "err", err)
	}
}

// finish ends the call with the host's result. If the host was asked to end the call and did not do it, the result has the code of
// that reason. Otherwise the host's result counts.
func (c *call) finish(r *wire.ToolResult) {
	c.mu.Lock()
	why := c.why
	broken := c.down.next > 0 && !c.down.whole && r.Error == ""
	c.mu.Unlock()
	switch {
	case why != nil && why.code != tool.Cancelled && r.Error == string(tool.Cancelled):
		nothing := " Nothing was written."
		if c.spec.ReadOnly {
			nothing = " Nothing was read."
		}
		c.fail(why.code, why.words+nothing)
	case broken && why != nil:
		c.fail(why.code, why.words)
	case broken:
		c.fail(internalError, "The host did not send all of the content.")
	case r.Error == string(tool.HostUnavailable) && r.Result == nil:
		c.fail(tool.HostUnavailable, fmt.Sprintf("The host of workspace %q was lost.", c.to)+c.unknown())
	default:
		own := *r // the frame may also be used by another hub
		take := c.takeAnswer
		if c.gathered.Size() > 0 && r.Error == "" {
			take = c.putTogether
		}
		if wrong := take(&own); wrong != nil {
			c.fail(wrong.code, wrong.words)
			return
		}
		c.conclude(&own, false)
	}
}

// fail ends the call with an error of the hub.
func (c *call) fail(code tool.Code, message string) {
	c.conclude(failure(code, message), !c.unsaid)
}

// conclude ends the call, unless it has already ended. A result made by the gateway is recorded in the trail before the caller
// receives it.
func (c *call) conclude(r *wire.ToolResult, ours bool) {
	c.mu.Lock()
	capacity := c.answerBytes
	c.answerBytes = nil
	release := func() { // further calls do nothing
		for _, give := range capacity {
			give()
		}
	}
	if c.state == finished {
		c.mu.Unlock()
		release()
		return
	}
	c.state = finished
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.over != nil {
		c.over()
	}
	c.gathered, c.frame = wire.Content{}, nil
	slot, asked := c.slot, c.asked
	c.asked = nil
	c.mu.Unlock()
	if asked != nil {
		asked()
	}
	if len(r.Result) <= smallAnswer { // content that was only forwarded is not held
		release()
	}
	if c.requestBytes != nil {
		c.requestBytes()
	}
	c.h.calls.forget(c)
	if slot != nil {
		slot.end()
	}
	if ours {
		c.recordResult(r)
	}
	c.mu.Lock()
	c.f.Arguments = nil // the call may be kept for a while together with its result
	c.mu.Unlock()
	c.done(r, release)
}

// failure returns a failed result in the format of the file tools.
func failure(code tool.Code, message string) *wire.ToolResult {
	return &wire.ToolResult{Result: json.RawMessage(tool.Failure(code, message)), Error: string(code)}
}
