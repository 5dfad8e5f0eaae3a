package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/internal/rpclines"
)

// MCP over stdio: requests begin in order, at most maxAtWork at a time.

// What the server holds for a client, besides its calls.
const (
	maxAtWork   = 64      // requests that have begun, and are neither answered nor waiting for a person
	maxWaiting  = 4 << 20 // bytes of requests that are read but have not begun
	requestCost = 4 << 10 // is added to the size of a waiting request, in bytes
)

// finishTime is how long earlier requests may take after the end of input, if no answer is sent in that time.
const finishTime = 10 * time.Second

// Serve serves one MCP client over in and out, with one message on each line. It returns at the end of in, when ctx is done, or
// when writing to out fails, which is an error. Requests before the end of in are still answered, but no person is asked for them
// after it. After the end of in, a client that reads nothing for twice the time grace ends the session. When ctx is done, or after
// Close, Serve still writes the lines that are ready, for the time grace at most. Serve closes neither in nor out. A Read or Write
// that is blocked at the end stays blocked in its goroutine.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.gate.enter() {
		return ErrClosed
	}
	defer s.gate.leave()
	running, stop := context.WithCancel(ctx) // done when the session must end
	defer stop()
	defer context.AfterFunc(s.base, stop)()

	c := newConnection(s, running, in, out, stop)
	defer c.out.lose()
	session, err := s.mcp.Connect(context.WithValue(ctx, connectionKey{}, c), c, nil)
	if err != nil {
		return err
	}
	err = session.Wait()
	s.calls.endSession(s.config.Session)
	s.end(s.config.Session)
	_ = c.out.inTurn(context.Background(), func() error { return nil }) // waits until the lines before it are written
	switch failed := c.out.failed(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.base.Err() != nil:
		return ErrClosed
	case failed != nil:
		return failed
	}
	return err
}

// connection is the SDK's transport over stdio, and its connection. It adds what the SDK's connection does not have:
//
//   - Requests begin in the order in which they were read. The SDK starts a goroutine for each.
//   - At most maxAtWork requests run at a time, until the client has read their answers. If too many wait, no more are read.
//   - A request that the client has cancelled is not answered.
//   - At the end of input, the session ends after all earlier requests are answered.
type connection struct {
	mcp.Connection // the SDK's
	server         *Server
	running        context.Context // done when the session must end
	in             *lineReader
	out            *lineWriter
	inputEnded     chan struct{}       // closed when input has ended
	atWork         *semaphore.Weighted // of maxAtWork
	waiting        *semaphore.Weighted // of maxWaiting

	once   sync.Once
	closed chan struct{}

	mu       sync.Mutex
	open     map[jsonrpc.ID]*clientRequest // requests without a response
	arriving *clientRequest                // the SDK has this request, but it has no turn yet
	last     chan struct{}                 // the channel begun of the last request in the order; nil before the first

	responding int // number of responses that are being written; their ids may be used again
}

func newConnection(s *Server, running context.Context, in io.Reader, out io.Writer, fail func()) *connection {
	c := &connection{
		server: s, running: running, inputEnded: make(chan struct{}), closed: make(chan struct{}), open: map[jsonrpc.ID]*clientRequest{},
		atWork: semaphore.NewWeighted(maxAtWork), waiting: semaphore.NewWeighted(maxWaiting),
	}
	c.out = newLineWriter(running, out, c.inputEnded, fail)
	c.in = &lineReader{ctx: running, in: rpclines.NewReader(in, s.config.MaxMessage), out: c.out}
	return c
}

// Connect implements mcp.Transport.
func (c *connection) Connect(ctx context.Context) (_ mcp.Connection, err error) {
	sdk := &mcp.IOTransport{Reader: c.in, Writer: c.out, MaxLineLength: -1} // no limit here: the reader has one
	c.Connection, err = sdk.Connect(ctx)
	return c, err
}

// clientRequest is a request over stdio, until its response is passed to the writer. A nil *clientRequest is a request over HTTP;
// its methods do nothing.
type clientRequest struct {
	c         *connection
	method    string
	size      int64           // bytes that count against maxWaiting while it waits
	arrived   chan struct{}   // closed when it has its turn, or is answered
	before    <-chan struct{} // the channel begun of the request before it
	begun     chan struct{}   // closed when the next request may begin
	beginOnce sync.Once

	// protected by c.mu
	cancelled  bool   // by the client
	text, word string // a long text of the result, and the word that replaces it: see setAside
	waits      bool   // it holds size of waiting
	works      bool   // it holds one of atWork
}

const listenMethod = "subscriptions/listen" // a request without an answer while the client listens

// Read implements mcp.Connection.
func (c *connection) Read(context.Context) (jsonrpc.Message, error) {
	if err := c.awaitArrival(); err != nil {
		return c.ended(err)
	}
	for {
		m, err := c.Connection.Read(c.running)
		if err != nil {
			return c.ended(err)
		}
		r, ok := m.(*jsonrpc.Request)
		switch {
		case !ok:
		case r.Method == "notifications/cancelled":
			c.cancelled(r.Params)
		case r.IsCall() && r.Method != listenMethod:
			size := min(int64(len(r.Params))+requestCost, maxWaiting)
			if err := c.waiting.Acquire(c.running, size); err != nil {
				return c.ended(err)
			}
			if !c.enter(r, size) {
				c.waiting.Release(size)
				c.in.refuse(json.RawMessage("null"), rpclines.InvalidRequest, "the id is that of another request, which has no response yet")
				continue // the SDK would send no answer
			}
		}
		return m, nil
	}
}

// enter registers a request before the SDK gets it. It returns false if another request with the same id has no response yet.
func (c *connection) enter(m *jsonrpc.Request, size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[m.ID] != nil {
		return false
	}
	r := &clientRequest{
		c: c, method: m.Method, size: size, arrived: make(chan struct{}), begun: make(chan struct{}), waits: true,
	}
	c.open[m.ID], c.arriving = r, r
	return true
}

// awaitArrival waits until the request that was read last has its turn.
func (c *connection) awaitArrival() error {
	c.mu.Lock()
	r := c.arriving
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.arrived:
	case <-c.closed:
	case <-c.running.Done():
		return c.running.Err()
	}
	return nil
}

// connectionKey is the context key of the connection, and requestKey is the context key of a request.
type (
	connectionKey struct{}
	requestKey    struct{}
)

// requestIn returns the request over stdio that ctx belongs to, or nil.
func requestIn(ctx context.Context) *clientRequest {
	r, _ := ctx.Value(requestKey{}).(*clientRequest)
	return r
}

// arrive is called when the SDK starts to handle a message. It gives a request its turn. It returns nil for other
// messages.
func arrive(ctx context.Context, method string) *clientRequest {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.arriving
	if r == nil || r.method != method {
		return nil // a notification, or listenMethod
	}
	r.before, c.last = c.last, r.begun
	c.arriving = nil
	close(r.arrived)
	return r
}

// wait waits until it is the request's turn and it may be at work. If it returns nil, the caller must call begin.
func (r *clientRequest) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	if r.before != nil {
		<-r.before // when the session ends, this channel is closed soon
	}
	works := r.method != "initialize" // the SDK blocks all other requests meanwhile
	if works {
		if err := r.c.atWork.Acquire(ctx, 1); err != nil {
			r.begin()
			return err
		}
	}
	r.hold(false, works)
	return nil
}

// hold sets what the request holds, and releases the rest.
func (r *clientRequest) hold(waits, works bool) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.waits && !waits {
		r.c.waiting.Release(r.size)
	}
	if r.works && !works {
		r.c.atWork.Release(1)
	}
	r.waits, r.works = waits, works
}

// begin lets the next request in the order begin.
func (r *clientRequest) begin() {
	if r != nil {
		r.beginOnce.Do(func() { close(r.begun) })
	}
}

// leave lets another request begin. It is called when the request is answered, or waits for a person.
func (r *clientRequest) leave() {
	if r != nil {
		r.hold(false, false)
	}
}

// cancelled records that the client has cancelled a request.
func (c *connection) cancelled(params json.RawMessage) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.open[id]; r != nil {
		r.cancelled = true
	}
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if m, ok := m.(*jsonrpc.Response); ok {
		return c.respond(ctx, m)
	}
	return c.out.inTurn(ctx, func() error { return c.Connection.Write(ctx, m) })
}

// respond writes a response, and waits until the client has read it.
func (c *connection) respond(ctx context.Context, m *jsonrpc.Response) error {
	c.mu.Lock()
	r := c.open[m.ID]
	cancelled := r != nil && r.cancelled
	text, word := "", ""
	if r != nil {
		text, word = r.text, r.word
	}
	delete(c.open, m.ID)
	c.responding++
	if r != nil && r == c.arriving { // the SDK has refused it
		c.arriving = nil
		close(r.arrived)
	}
	c.mu.Unlock()
	var err error
	if !cancelled || m.Error == nil {
		err = c.out.inTurn(ctx, func() error { return c.writeResponse(ctx, m, text, word) })
	}
	r.leave()
	c.mu.Lock()
	c.responding--
	c.mu.Unlock()
	return err
}

// ended handles the end of input. It waits until all earlier requests are answered, as long as the client reads answers. If the
// client reads nothing, it waits for finishTime at most.
func (c *connection) ended(err error) (jsonrpc.Message, error) {
	close(c.inputEnded)
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	seen, quiet := int64(0), time.Duration(0) // in steps: this process may be stopped for a while
	for ; c.isOpen() && quiet < finishTime; quiet += step {
		c.server.calls.cancelAsking(c.server.config.Session)
		if written := c.out.written.Load(); written != seen {
			seen, quiet = written, 0
		}
		select {
		case <-tick.C:
		case <-c.closed:
			return nil, err
		case <-c.running.Done():
			return nil, err
		}
	}
	return nil, err
}

// isOpen reports whether there are requests without a response.
func (c *connection) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)+c.responding > 0
}

// Close implements mcp.Connection.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// longText is the length, in bytes, from which this package encodes the text of a result itself, once. The SDK would encode the
// text and then process it four more times, each time together with the JSON around it.
const longText = 16 << 10

// setAside replaces a long text in a result by a random word, which does not occur elsewhere. writeResponse replaces the word by
// the text.
func (r *clientRequest) setAside(result mcp.Result) mcp.Result {
	call, _ := result.(*mcp.CallToolResult)
	if r == nil || call == nil || len(call.Content) != 1 {
		return result
	}
	content, ok := call.Content[0].(*mcp.TextContent)
	if !ok || len(content.Text) < longText {
		return result
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.text, r.word = content.Text, rand.Text()
	short := *call // the original may be delivered again
	short.Content = []mcp.Content{&mcp.TextContent{Text: r.word}}
	return &short
}

// writeResponse writes a response. If word is not empty, it replaces word by text, which setAside has removed.
func (c *connection) writeResponse(ctx context.Context, m *jsonrpc.Response, text, word string) error {
	if word == "" || m.Error != nil {
		return c.Connection.Write(ctx, m)
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(line, []byte(word))
	line = make([]byte, 0, len(line)+len(text)+len(text)/8)
	line = append(rawjson.AppendText(append(line, before...), text), after...)
	return c.out.write(append(line, '\n'))
}
