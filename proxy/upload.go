package proxy

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/stet-dev/stet/internal/continuation"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/toollist"
)

// upload is the body of a request on its way to the upstream. The zero value is streamed as it comes.
type upload struct {
	head     []byte          // what was read of it
	whole    bool            // head is all of it
	coding   *coding         // that a whole one came in; head is its text. nil: none
	came     []byte          // the whole one in its coding
	patched  []byte          // what goes upstream instead of a whole one; nil: head
	rest     atomic.Int64    // bytes that were streamed behind head
	dropping bool            // thinking that is bound to something else is to be dropped: the request needs a header
	clearing bool            // old results are to be cleared: likewise
	without  map[string]bool // names of tools that are left out of it
	goes     int             // bytes of its text that went upstream, if tools were left out
	outgoing *outgoing       // a whole one, as it goes upstream; nil: it does not yet
	borrowed []*lease        // buffers to give back at the end; a whole body is in the first
	taken    []func()        // room to give back at the end
	client   string          // whose room it is

	turn *continuation.Turn // what it is in a conversation that the provider keeps; nil: it is in none
}

// receive reads the body of r, as far as it is one to plan on; the cause says
// why it is none. An error means that the client did not send a whole one.
func (u *upload) receive(r *http.Request, max int64, pool *buffers, budget *bodyBudget) (cause, error) {
	coding, plain, ok := codingOf(strings.Join(r.Header.Values("Content-Encoding"), ","))
	if !ok {
		return encoded, nil
	}
	if r.ContentLength > max {
		return large, nil
	}
	u.client = senderOf(r)
	if err := u.take(budget, u.client, r.ContentLength); err != nil {
		return incomplete, err
	}
	var err error
	if r.ContentLength >= 0 {
		u.head = pool.get(int(r.ContentLength))[:r.ContentLength]
		var n int
		n, err = io.ReadFull(r.Body, u.head)
		u.head = u.head[:n]
	} else {
		u.head, err = io.ReadAll(&metered{io.LimitReader(r.Body, max+1), 0, func(n int64) error { return u.take(budget, u.client, n) }})
	}
	u.borrowed = append(u.borrowed, lend(u.head))
	switch {
	case err != nil:
		return incomplete, err
	case int64(len(u.head)) > max:
		return large, nil
	}
	u.whole = true
	if plain {
		return planned, nil
	}
	return u.decode(coding, max, budget), nil
}

// take takes room for n bytes of the body.
func (u *upload) take(budget *bodyBudget, client string, n int64) error {
	if n <= 0 {
		return nil
	}
	release, err := budget.take(client, n)
	if err == nil {
		u.taken = append(u.taken, release)
	}
	return err
}

// metered is a body whose length is not known: room for it is taken as it comes.
type metered struct {
	io.Reader
	left int64 // of what was taken
	take func(n int64) error
}

func (m *metered) Read(b []byte) (int, error) {
	if m.left == 0 {
		if err := m.take(2 * uploadStep); err != nil { // growing holds what was there as well
			return 0, err
		}
		m.left = uploadStep
	}
	n, err := m.Reader.Read(b[:min(int64(len(b)), m.left)])
	m.left -= int64(n)
	return n, err
}

// send makes the body of out, a copy of the client's request.
func (u *upload) send(out *http.Request) {
	if len(u.head) > 0 {
		out.Header.Del("Expect") // the client was told to go on
	}
	if !u.whole {
		if out.Body != nil {
			out.Body = &following{head: u.head, rest: out.Body, passed: &u.rest}
		}
		return
	}
	u.outgoing.close() // of a try before: it reads nothing of this one
	if u.dropping {
		anthropic.AllowDropping(out.Header)
	}
	if u.clearing {
		anthropic.AllowClearing(out.Header)
	}
	body := u.outgoingBody()
	out.ContentLength, out.TransferEncoding, out.Trailer = int64(len(body)), nil, nil
	if len(body) == 0 {
		out.Body, out.GetBody = http.NoBody, nil
		return
	}
	going := &outgoing{body: body}
	u.outgoing = going
	out.GetBody = func() (io.ReadCloser, error) { return going.open(), nil }
	out.Body = going.open()
}

// continues reports whether the body has only what is new in a conversation that is held.
func (u *upload) continues() bool { return u.turn != nil && u.turn.Continues() }

// patch makes the edits in the whole original body; view is the part from which req was decoded. Unless the edits are proven
// correct, the body is sent unchanged.
func (u *upload) patch(codec llm.Codec, view []byte, req *llm.Request, edits []llm.Edit, pool *buffers) error {
	u.patched, u.dropping, u.clearing = nil, false, false
	if len(edits) == 0 && !u.continues() {
		return nil
	}
	patched, err := codec.Patch(pool.get(len(view)), view, req, edits)
	u.borrowed = append(u.borrowed, lend(patched))
	if err == nil {
		err = verify(view, patched, req, edits)
	}
	if err == nil && u.continues() {
		patched, err = u.turn.Patched(pool.get(len(u.head)), patched)
		u.borrowed = append(u.borrowed, lend(patched))
	}
	if err == nil {
		u.patched = patched
	}
	return err
}

// dropBound makes the body ask for thinking to be dropped that is bound to something else.
func (u *upload) dropBound(pool *buffers) error {
	if u.dropping || !u.whole {
		return nil
	}
	body, err := anthropic.AppendDropping(pool.get(len(u.sent())+100), u.sent())
	u.borrowed = append(u.borrowed, lend(body))
	if err == nil {
		u.patched, u.dropping = body, true
	}
	return err
}

// clear makes the body ask for the results of the first calls of tools to be cleared, and those of the last keep to stay.
func (u *upload) clear(calls, keep int, pool *buffers) error {
	body, err := anthropic.AppendClearing(pool.get(len(u.sent())+200), u.sent(), calls, keep)
	u.borrowed = append(u.borrowed, lend(body))
	if err == nil {
		u.patched, u.clearing = body, true
	}
	return err
}

// sent is the text of what goes upstream of a whole body, with all tools.
func (u *upload) sent() []byte {
	if u.patched != nil {
		return u.patched
	}
	return u.head
}

// text is the text of what goes upstream of a whole body.
func (u *upload) text() []byte {
	if len(u.without) == 0 {
		return u.sent()
	}
	all := u.sent()
	text := toollist.AppendWithout(make([]byte, 0, len(all)), all, u.without)
	u.goes = len(text)
	return text
}

// sizes returns the bytes that came in and went upstream, of the text where it is known.
func (u *upload) sizes() (in, out int64) {
	in = int64(len(u.head)) + u.rest.Load()
	switch {
	case u.goes > 0:
		return in, int64(u.goes)
	case u.patched != nil:
		return in, int64(len(u.patched))
	}
	return in, in
}

// release ends all use of the body and gives its memory back.
func (u *upload) release(pool *buffers) {
	u.outgoing.close()
	u.head, u.patched, u.came = nil, nil, nil
	for _, l := range u.borrowed {
		l.drop(pool)
	}
	u.borrowed = nil
	for _, release := range u.taken {
		release()
	}
	u.taken = nil
}

// following reads the head of a body, and then the rest as it comes.
type following struct {
	head   []byte // what is left of it
	rest   io.ReadCloser
	passed *atomic.Int64 // bytes of rest
}

func (f *following) Read(b []byte) (int, error) {
	if len(f.head) > 0 {
		n := copy(b, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	n, err := f.rest.Read(b)
	f.passed.Add(int64(n))
	return n, err
}

func (f *following) Close() error { return f.rest.Close() }
