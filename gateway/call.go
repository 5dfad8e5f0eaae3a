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

// call is one call on its way: the future that a caller waits on. (FILE-4)
type call struct {
	h    *Hub
	f    wire.ToolCall // as the host gets it, under an id that is unique in the gateway
	to   string        // the workspace
	spec wire.Tool
	who  Identity // of the caller; zero: this process
	// account is that of the caller's token, whose limits count beside the session's;
	// "": there is none.
	account string

	unsaid bool // that it is refused is in the trail already, for the call before

	// tell is told what happens meanwhile, if it is not nil, and done once how the
	// call ended. Neither may wait. What they get is theirs, but for what it
	// points to, and a result holds until done returns; its call id means nothing.
	tell func(wire.Frame)
	// release is to be called, once, when the result is not held any more.
	done func(r *wire.ToolResult, release func())

	takes bool // the caller takes a content in parts
	owns  bool // the result's memory is its own, and holds after done; to be read by done

	mu      sync.Mutex
	state   state
	path    string // that the arguments name, once they are gone
	ticket  *ticket
	timer   *time.Timer
	clock   int           // of the timer that counts; one that was stopped too late does not
	left    time.Duration // of the call's own time, as of since
	since   time.Time
	waiting bool    // for a person
	asking  bool    // it counts among the questions of its token
	why     *reason // once it was told to end

	up, down stream       // of the content to the host, and from there
	held     []*wire.Part // that came before the call was sent
	flows    bool         // none is held any more

	letGo    func()       // gives back the bytes of the call itself; nil: none are taken
	gathered wire.Content // of the result, for a caller that takes no parts
	rooms    []func()     // give back the bytes that are taken for the result
	grounded bool         // they are taken for a content in parts

	ended context.Context // done when the call is over
	over  context.CancelFunc
}

// state is where a call is.
type state byte

const (
	queued state = iota
	sent
	ending // the host was told to end it
	finished
)

func seconds(n int, usual time.Duration) time.Duration {
	if n <= 0 {
		return usual
	}
	return time.Duration(min(n, int(longest/time.Second))) * time.Second
}

// partsRoom is how much room a call gets among others whose content comes in
// parts, in bytes: more than are on their way at once, lest one workspace has many
// of these.
const partsRoom = 4 << 20

// begin starts the clock, and sends the call when there is room for it.
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
	ticket := c.h.lanes(c.to).ask(c.f.Session, size, c.enter)
	c.mu.Lock()
	c.ticket = ticket
	done, waiting := c.state == finished, c.waiting
	c.mu.Unlock()
	switch {
	case done:
		ticket.back()
	case waiting:
		ticket.step()
	}
}

// enter sends the call to its host.
func (c *call) enter() {
	c.mu.Lock()
	if c.state != queued {
		c.mu.Unlock()
		return
	}
	c.state = sent
	f := c.f
	c.path, c.f.Arguments = tool.PathIn(c.f.Arguments), nil // it may wait long, and they may be large
	c.mu.Unlock()
	err := c.send(&f)
	switch {
	case errors.Is(err, ErrNobody):
		c.fail(tool.HostUnavailable, c.h.noHost(c.to))
	case err != nil:
		c.fail(tool.HostUnavailable, err.Error())
	case c.f.PartsFollow:
		c.flow()
	case c.letGo != nil:
		c.letGo()
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
	c.timer = time.AfterFunc(d, func() { c.ring(n) })
}

// ring is the end of the time that was set.
func (c *call) ring(n int) {
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

// happened takes what the host says.
func (c *call) happened(f wire.Frame) {
	switch f := f.(type) {
	case *wire.ToolResult:
		if !awaits(f) {
			c.finish(f)
			return
		}
		if c.wait(true) && c.ask() {
			c.say(&wire.ToolResult{NeedsConfirmation: true})
		}
	case *wire.Progress:
		if waiting := f.State == wire.Waiting; c.wait(waiting) && waiting && !c.ask() {
			return
		}
		p := *f
		c.say(&p)
	case *wire.Part:
		c.passDown(f)
	case *wire.Taken:
		c.passTaken(f)
	}
}

func (c *call) say(f wire.Frame) {
	if c.tell != nil {
		c.tell(f)
	}
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
	ticket, asked := c.ticket, c.asking && !waiting
	if asked {
		c.asking = false
	}
	c.mu.Unlock()
	if asked {
		c.h.asked(c.account)
	}
	if waiting && ticket != nil {
		ticket.step()
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
	why, said := c.why, r
	broken := c.down.next > 0 && !c.down.whole && r.Error == ""
	c.mu.Unlock()
	switch {
	case why != nil && why.code != tool.Cancelled && r.Error == string(tool.Cancelled):
		r = failure(why.code, why.words+" Nothing was written.")
	case broken && why != nil:
		r = failure(why.code, why.words)
	case broken:
		r = failure(internalError, "The host did not send all of the content.")
	case r.Error == string(tool.HostUnavailable) && r.Result == nil:
		r = failure(tool.HostUnavailable, fmt.Sprintf("The host of workspace %q was lost.", c.to)+c.unknown())
	default:
		own := *r
		r, said = &own, &own
		if c.gathered.Size() > 0 && r.Error == "" {
			r = c.whole(r)
			said = r
		} else {
			r = c.counted(r)
		}
	}
	c.conclude(r, r != said)
}

// fail is the call's end in the hub's words.
func (c *call) fail(code tool.Code, message string) {
	c.conclude(failure(code, message), !c.unsaid)
}

// conclude is the call's end, unless it was over before. Where the gateway says what
// it came to, that is in the trail before the caller hears of it.
func (c *call) conclude(r *wire.ToolResult, ours bool) {
	c.mu.Lock()
	rooms := c.rooms
	c.rooms = nil
	release := func() { // may be called again: what is given back is so once
		for _, give := range rooms {
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
	c.gathered = wire.Content{}
	ticket, asking := c.ticket, c.asking
	c.asking = false
	c.mu.Unlock()
	if asking {
		c.h.asked(c.account)
	}
	if len(r.Result) <= smallAnswer { // nothing is held of a content that has passed through
		release()
	}
	if c.letGo != nil {
		c.letGo()
	}
	c.h.forget(c)
	if ticket != nil {
		ticket.back()
	}
	if ours {
		c.said(r)
	}
	c.mu.Lock()
	c.f.Arguments = nil // the call may be kept for a while, for who asks for its result
	c.mu.Unlock()
	c.done(r, release)
}

// failure is a failed result in the words of the file tools. (FILE-2, FILE-3)
func failure(code tool.Code, message string) *wire.ToolResult {
	return &wire.ToolResult{Result: json.RawMessage(tool.Failure(code, message)), Error: string(code)}
}
