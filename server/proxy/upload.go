package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/server/proxy/threads"
)

// upload is the body of a request on its way upstream. The zero value is a body that is streamed as it comes.
type upload struct {
	head     []byte       // the bytes that were read
	whole    bool         // head is the whole body
	coding   *coding      // the coding of a whole body, whose decompressed text is head; nil: not compressed
	came     []byte       // a whole body as it came, compressed
	patched  []byte       // sent upstream instead of head; nil: head is sent
	rest     atomic.Int64 // bytes that were streamed after head
	dropping bool         // the request asks the provider to drop signed thinking, which needs a header
	clearing bool         // it asks the provider to clear old results, which needs a header too
	outgoing *outgoing    // a whole body that is being sent; nil: not yet
	borrowed []*lease     // buffers to return at the end; the first holds a whole body
	taken    []func()     // reserved capacity to release at the end
	client   string       // the client that the capacity is reserved for

	turn *threads.Turn // its place in a conversation that the provider stores; nil: there is no such conversation
}

// receive reads the body of r if it can be planned; otherwise the cause says why not. An error means that the body could not be
// read whole, or that the budget has no room for it.
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

// take reserves capacity for n bytes of the body.
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

// metered reads a body of unknown length and reserves capacity for it in steps.
type metered struct {
	io.Reader
	left int64 // bytes left of the last step
	take func(n int64) error
}

func (m *metered) Read(b []byte) (int, error) {
	if m.left == 0 {
		if err := m.take(2 * uploadStep); err != nil { // while the buffer grows, the old one is held too
			return 0, err
		}
		m.left = uploadStep
	}
	n, err := m.Reader.Read(b[:min(int64(len(b)), m.left)])
	m.left -= int64(n)
	return n, err
}

// send sets the body of out, which is a copy of the client's request.
func (u *upload) send(out *http.Request) {
	if len(u.head) > 0 {
		out.Header.Del("Expect") // the proxy has already asked the client to continue
	}
	if !u.whole {
		if out.Body != nil {
			out.Body = &following{head: u.head, rest: out.Body, passed: &u.rest}
		}
		return
	}
	u.outgoing.close() // an earlier try must not read the new body
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

// continues reports whether the body has only the new messages of a conversation that is held.
func (u *upload) continues() bool { return u.turn != nil && u.turn.Continues() }

// patch makes the edits in the body. req was decoded from view. The edits are used only if they are proven correct; on an error the
// body stays unpatched.
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

// dropBound adds the option to drop thinking that was signed after something else.
func (u *upload) dropBound(pool *buffers) error {
	if u.dropping || !u.whole {
		return nil
	}
	body, err := anthropic.AppendDropping(pool.get(len(u.text())+100), u.text())
	u.borrowed = append(u.borrowed, lend(body))
	if err == nil {
		u.patched, u.dropping = body, true
	}
	return err
}

// clear adds the option to clear the results of the first calls, and to keep those of the last keep calls.
func (u *upload) clear(calls, keep int, pool *buffers) error {
	body, err := anthropic.AppendClearing(pool.get(len(u.text())+200), u.text(), calls, keep)
	u.borrowed = append(u.borrowed, lend(body))
	if err == nil {
		u.patched, u.clearing = body, true
	}
	return err
}

// text returns the text of a whole body that goes upstream.
func (u *upload) text() []byte {
	if u.patched != nil {
		return u.patched
	}
	return u.head
}

// sizes returns the bytes that came in and that went upstream. They count the decompressed text, if that is known.
func (u *upload) sizes() (in, out int64) {
	in = int64(len(u.head)) + u.rest.Load()
	if u.patched != nil {
		return in, int64(len(u.patched))
	}
	return in, in
}

// release ends all use of the body and returns its memory.
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

// following reads the head of a body, and then streams the rest.
type following struct {
	head   []byte // the unread part of the head
	rest   io.ReadCloser
	passed *atomic.Int64 // bytes read from rest
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

// verify proves that patched equals body, except that the literals of the edited parts are replaced by the texts of the edits, and
// removed thinking is gone.
func verify(body, patched []byte, req *llm.Request, edits []llm.Edit) error {
	type place struct {
		llm.Span
		text string
		gone bool // the part is removed
	}
	places := make([]place, len(edits))
	for i, e := range edits {
		part := &req.Messages[e.Message].Parts[e.Part]
		places[i] = place{part.Span, part.InPlace(e.Text), part.Kind == llm.Thinking}
	}
	slices.SortFunc(places, func(a, b place) int { return a.Start - b.Start })
	done := 0 // bytes of body that are checked
	rest := patched
	for _, at := range places {
		if at.Start < done || at.End > len(body) {
			return fmt.Errorf("the spans at byte %d overlap", at.Start)
		}
		same := body[done:at.Start]
		if !bytes.HasPrefix(rest, same) {
			return fmt.Errorf("bytes %d to %d differ", done, at.Start)
		}
		rest = rest[len(same):]
		if at.gone {
			if block, ok := bytes.CutSuffix(bytes.TrimSpace(body[at.Start:at.End]), []byte(",")); !ok || !json.Valid(block) {
				return fmt.Errorf("bytes %d to %d are not one block", at.Start, at.End)
			}
			done = at.End
			continue
		}
		literal := literalOf(rest)
		if body[at.Start] == '{' { // the arguments of a call are a JSON object, not a string
			literal = rest[:min(len(rest), len(at.text))]
		}
		if !says(literal, at.text) {
			return fmt.Errorf("the value at byte %d is not the edit's text", at.Start)
		}
		rest, done = rest[len(literal):], at.End
	}
	if !bytes.Equal(rest, body[done:]) {
		return fmt.Errorf("bytes from %d differ", done)
	}
	return nil
}

// says reports whether value is the JSON string for text, or is a JSON object equal to text.
func says(value []byte, text string) bool {
	if len(value) > 0 && value[0] == '{' {
		return string(value) == text && json.Valid(value)
	}
	var said string
	return json.Unmarshal(value, &said) == nil && said == text
}

// literalOf returns the JSON string literal at the beginning of b, or nil.
func literalOf(b []byte) []byte {
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1]
		}
	}
	return nil
}
