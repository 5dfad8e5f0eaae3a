package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// internalError is the code of a result that says that something broke.
const internalError tool.Code = "internal_error"

// How long a call takes if it does not say, and how long a host may take to say
// what has become of a call that it was told to end. (FILE-4)
const (
	usualTimeout  = 30 * time.Second
	usualApproval = 600 * time.Second
	settling      = 2 * time.Second
)

// longest is the longest time a call may ask for; a longer one counts as this.
const longest = 24 * time.Hour

// call is one call on its way through the hub: the future that a caller waits on. It
// came from an agent, from plain HTTP or from this process. (FILE-4)
type call struct {
	h    *Hub
	f    wire.ToolCall // as the host gets it, under an id that is unique in the gateway
	to   string        // the workspace
	spec wire.Tool
	who  Identity // of the caller; zero: this process
	// account is that of the caller's token, whose limits count beside the session's;
	// "": there is none.
	account string
	// takesParts says that the caller takes a content in parts.
	takesParts bool

	frame  *wire.ToolCall // to be sent again while the host moves; nil once that has begun the call, or where that cannot be
	giveUp time.Time      // when it is not sent again any more

	unsaid bool // that it is refused is in the trail already, for the call before

	// tell is told what happens meanwhile, and done once how the call ended. Neither may
	// wait. The frames are theirs, but for the payload; their call id means nothing.
	tell func(wire.Frame)
	// release is to be called when the result is not held any more.
	done func(r *wire.ToolResult, release func())

	mu      sync.Mutex
	state   callState
	path    string // that the arguments name, once they are dropped
	slot    *slot
	timer   *time.Timer
	clock   int           // of the timer that counts; one that was stopped too late does not
	left    time.Duration // of the call's own time, as of since
	since   time.Time
	waiting bool    // for a person
	asking  bool    // it counts among the questions of its token
	why     *reason // once it was told to end

	up, down stream       // of the content to the host, and from there
	held     []*wire.Part // that came before the call was sent
	flows    bool         // parts go to the host as they come

	requestRoom func()       // gives back the bytes of the call itself; nil: none are taken
	answerRoom  []func()     // give back the bytes that are taken for the result
	hasRoom     bool         // they are taken for a content in parts
	gathered    wire.Content // of the result, for a caller that takes no parts

	ended context.Context // done when the call is over
	over  context.CancelFunc
}

// newCall is a call of a client with a token, under an id that is unique in the gateway.
// The client names the session and the call.
func (h *Hub) newCall(f wire.ToolCall, who Identity, session, id, workspace string) *call {
	f.Session = who.sessionOf(session)
	f.CallID = f.Session + "/" + id
	f.TakesParts = true // for the client, or to be put together here
	return &call{h: h, f: f, to: workspace, who: who, account: who.ID}
}

// callState is how far a call has come.
type callState byte

const (
	queued callState = iota // it waits for its slot
	sent
	ending // the host was told to end it
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

// partsRoom is how much room a call takes among the others of its workspace, in bytes,
// if its content comes in parts: more than are on their way at once, so that a
// workspace does not have many of these.
const partsRoom = 4 << 20

// begin starts the clock, and sends the call when it is let in.
func (c *call) begin() {
	c.mu.Lock()
	c.ended, c.over = context.WithCancel(c.h.base)
	c.left = seconds(c.f.TimeoutSeconds, usualTimeout)
	c.run(c.left)
	c.mu.Unlock()
	size := len(c.f.Arguments) + 1024
	if c.f.PartsFollow {
		size += partsRoom
	}
	slot := c.h.schedulerOf(c.to).ask(c.f.Session, size, c.forward)
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
	c.path, c.f.Arguments = tool.PathIn(c.f.Arguments), nil // it may wait long, and they may be large
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

// How long a call waits for a host that goes from one hub to another, and how often it
// is sent meanwhile.
const (
	moveWait  = 5 * time.Second
	moveEvery = 50 * time.Millisecond
)

// callAgain is the reason of the wire.Cancel with which a hub hands a call back, since its host
// is about to be at another hub. Hosts do not say it.
const callAgain = "again"

// again sends the call in a moment once more: it did not reach the host. It fails where that
// cannot be.
func (c *call) again() {
	c.mu.Lock()
	if c.state != sent {
		c.mu.Unlock()
		return
	}
	f := c.frame
	if f == nil || time.Now().After(c.giveUp) {
		c.mu.Unlock()
		c.fail(tool.HostUnavailable, c.h.noHost(c.to))
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

// begun notes that the host has the call.
func (c *call) begun() {
	c.mu.Lock()
	c.frame = nil
	c.mu.Unlock()
	if c.requestRoom != nil && !c.f.PartsFollow {
		c.requestRoom()
	}
}

// run sets the clock. The caller holds mu.
func (c *call) run(d time.Duration) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.clock++
	n := c.clock
	c.since = time.Now()
	c.timer = time.AfterFunc(d, func() { c.timeout(n) })
}

// timeout is called when the time that was set is over. n is the clock that was set.
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
		words = fmt.Sprintf("Nobody answered within %v.", seconds(c.f.ApprovalTimeoutSeconds, usualApproval))
	}
	c.end(&reason{tool.Timeout, words})
}

// unknown is what is to be said of a call whose host has not told how it ended.
func (c *call) unknown() string {
	if c.spec.ReadOnly {
		return ""
	}
	return " Whether it was done is not known: look before you repeat it."
}

// end has the host end the call, and waits a moment for what it says of it.
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

// cancel ends the call at its caller's wish.
func (c *call) cancel() { c.end(&reason{tool.Cancelled, "The call was cancelled."}) }

// fromHost takes what the host says about the call.
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
			c.tell(&wire.ToolResult{NeedsConfirmation: true})
		}
	case *wire.Progress:
		if waiting := f.State == wire.Waiting; c.wait(waiting) && waiting && !c.ask() {
			return
		}
		own := *f
		c.tell(&own)
	case *wire.Part:
		c.partFromHost(f)
	case *wire.Taken:
		c.takenByHost(f)
	}
}

// awaits reports whether a result says that the call waits for a person, and that
// another one follows.
func awaits(r *wire.ToolResult) bool {
	return r.NeedsConfirmation && r.Result == nil && r.Error == ""
}

// wait stops the call's own clock while a person is asked, and reports whether
// that is news. (FILE-4)
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
	slot, asked := c.slot, c.asking && !waiting
	if asked {
		c.asking = false
	}
	c.mu.Unlock()
	if asked {
		c.h.asked(c.account)
	}
	if waiting && slot != nil {
		slot.yield()
	}
	return true
}

// ask counts the call among the questions of its token. Where that is one too many
// the call is told to end, and ask returns false. (FILE-10)
func (c *call) ask() bool {
	if !c.h.mayAsk(c.account) {
		c.end(&reason{tool.RateLimited, approval.ManyQuestions})
		return false
	}
	c.mu.Lock()
	over := c.state == finished
	c.asking = !over
	c.mu.Unlock()
	if over {
		c.h.asked(c.account)
	}
	return true
}

// finish is the call's end with what the host says. A call that was told to end
// and was not done has the reason for a code, and else is as the host says.
func (c *call) finish(r *wire.ToolResult) {
	c.mu.Lock()
	why := c.why
	broken := c.down.next > 0 && !c.down.whole && r.Error == ""
	c.mu.Unlock()
	switch {
	case why != nil && why.code != tool.Cancelled && r.Error == string(tool.Cancelled):
		c.fail(why.code, why.words+" Nothing was written.")
	case broken && why != nil:
		c.fail(why.code, why.words)
	case broken:
		c.fail(internalError, "The host did not send all of the content.")
	case r.Error == string(tool.HostUnavailable) && r.Result == nil:
		c.fail(tool.HostUnavailable, fmt.Sprintf("The host of workspace %q was lost.", c.to)+c.unknown())
	default:
		own := *r // the frame may be another hub's, too
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

// fail is the call's end in the hub's words.
func (c *call) fail(code tool.Code, message string) {
	c.conclude(failure(code, message), !c.unsaid)
}

// conclude is the call's end, unless it was over before. A result that is the
// gateway's own is in the trail before the caller hears of it.
func (c *call) conclude(r *wire.ToolResult, ours bool) {
	c.mu.Lock()
	room := c.answerRoom
	c.answerRoom = nil
	release := func() { // more calls do nothing
		for _, give := range room {
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
	slot, asking := c.slot, c.asking
	c.asking = false
	c.mu.Unlock()
	if asking {
		c.h.asked(c.account)
	}
	if len(r.Result) <= smallAnswer { // nothing is held of a content that has passed through
		release()
	}
	if c.requestRoom != nil {
		c.requestRoom()
	}
	c.h.forget(c)
	if slot != nil {
		slot.end()
	}
	if ours {
		c.recordResult(r)
	}
	c.mu.Lock()
	c.f.Arguments = nil // the call may be kept for a while, with its result
	c.mu.Unlock()
	c.done(r, release)
}

// failure is a failed result in the words of the file tools. (FILE-2, FILE-3)
func failure(code tool.Code, message string) *wire.ToolResult {
	return &wire.ToolResult{Result: json.RawMessage(tool.Failure(code, message)), Error: string(code)}
}
