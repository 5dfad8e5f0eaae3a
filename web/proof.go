package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// proofHeader has the proof of a request: channel.number.hash.mac, and that of
// its answer.
//
//	key      made at login; it never travels again
//	hello    MAC(key, "hello", login, nonce)
//	welcome  MAC(key, "welcome", nonce, channel)
//	request  MAC(key, "request", channel, number, method, path and query, hash of the body)
//	answer   MAC(key, "answer", MAC of the request, status, hash of the body)
//	stream   MAC(key, "stream", MAC of the request), where the body is events or a file
//
// A MAC is HMAC-SHA-256 over its parts with line ends between them, in base64url.
// The nonce is the page's and the channel the server's; both are random. A number
// is used once in its channel. So what a program sees that has taken the port is of no
// use to it: the server takes no request twice, and none that the page has not made.
const proofHeader = "Stet-Proof"

// Hello is the body of POST /api/hello, by which a page opens a channel.
type Hello struct {
	Login string `json:"login"`
	Nonce string `json:"nonce"`
	MAC   string `json:"mac"`
}

// Welcome is the answer. Channel is empty where the login has ended.
type Welcome struct {
	Channel string `json:"channel"`
	MAC     string `json:"mac"`
}

func (h *Handler) hello(w http.ResponseWriter, r *http.Request) {
	var in Hello
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if err := read(w, r, &in); err != nil {
		h.fail(w, r, err)
		return
	}
	key := h.keyOf(r, in.Login)
	if !proves(in.MAC, key, "hello", in.Login, in.Nonce) {
		h.fail(w, r, problem{http.StatusUnauthorized, "this server does not know this login"})
		return
	}
	out := Welcome{}
	if _, ok := h.holds(in.Login); ok {
		out.Channel = h.channels.open(in.Login, key)
	}
	out.MAC = encode(macOf(key, "welcome", in.Nonce, out.Channel))
	h.reply(w, out)
}

// proves reports whether mac is the MAC over parts.
func proves(mac string, key []byte, parts ...string) bool {
	return hmac.Equal([]byte(mac), []byte(encode(macOf(key, parts...))))
}

// endpoint serves a request of a person. An error of type problem says what to
// answer.
type endpoint func(w http.ResponseWriter, r *http.Request) error

// asking is who makes a request.
type asking struct {
	person  string
	channel *channel
}

type askingKey struct{}

func askingOf(ctx context.Context) asking {
	a, _ := ctx.Value(askingKey{}).(asking)
	return a
}

// who is the name of the person whose request it is.
func who(ctx context.Context) string { return askingOf(ctx).person }

func channelOf(ctx context.Context) *channel { return askingOf(ctx).channel }

// person lets those in who are logged in.
func (h *Handler) person(next endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, by, err := h.prove(w, r)
		if err == nil {
			err = next(w, r.WithContext(context.WithValue(r.Context(), askingKey{}, by)))
		}
		if err != nil {
			h.fail(w, r, err)
		}
	})
}

// proved is the writer of an answer to a request that has proved itself.
type proved struct {
	http.ResponseWriter
	key []byte
	mac string // of the request
}

// Unwrap is for http.ResponseController.
func (p *proved) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// sign puts the proof of an answer into its header, where the request had one.
func sign(w http.ResponseWriter, status int, body []byte) {
	if p, ok := w.(*proved); ok {
		p.Header().Set(proofHeader, encode(macOf(p.key, "answer", p.mac, strconv.Itoa(status), hashOf(body))))
	}
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return encode(sum[:])
}

// prove checks the proof of a request, and returns the writer that proves its answer.
// The body is read only after the proof of its hash.
func (h *Handler) prove(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, asking, error) {
	refused := problem{http.StatusUnauthorized, "log in by the link that stet printed"}
	parts := strings.Split(r.Header.Get(proofHeader), ".")
	if len(parts) != 4 {
		return w, asking{}, refused
	}
	id, number, hash, mac := parts[0], parts[1], parts[2], parts[3]
	c := h.channels.find(id)
	if c == nil || !proves(mac, c.key, "request", id, number, r.Method, r.URL.RequestURI(), hash) {
		return w, asking{}, refused
	}
	if n, err := strconv.ParseUint(number, 10, 64); err != nil || !c.fresh(n) || !h.channels.use(c) {
		return w, asking{}, refused
	}
	w.Header().Set(proofHeader, encode(macOf(c.key, "stream", mac))) // unless it is signed
	direct := w
	w = &proved{w, c.key, mac}
	person, ok := h.holds(c.login)
	if !ok {
		return w, asking{}, refused
	}
	body, err := io.ReadAll(http.MaxBytesReader(direct, r.Body, maxBody))
	if err != nil {
		return w, asking{}, invalid("read the body: %v", err)
	}
	if hash != hashOf(body) {
		return w, asking{}, invalid("the body is not the one that the page sent")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return w, asking{person, c}, nil
}

// window is how many numbers of a channel may be under way at once, and
// manyChannels how many channels are remembered.
const (
	window       = 256
	manyChannels = 1024
)

// channel is what a page and this process have agreed on by a hello.
type channel struct {
	id, login string
	key       []byte

	last   time.Time // when it was in use; of channels.mu, as is proved
	proved bool      // its page has the key: a hello that is sent again opens a channel too

	mu   sync.Mutex
	used [window]uint64 // the highest number so far, of those with this remainder
}

// fresh reports whether a number is used for the first time, and notes it. One that
// is far behind the highest counts as used.
func (c *channel) fresh(n uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := n % window
	if n <= c.used[at] {
		return false
	}
	c.used[at] = n
	return true
}

// channels are those of this process. The zero channels is ready. Where there are
// too many, one is forgotten whose page has not proved anything, or else the one that
// was not in use for longest: its page says hello again.
type channels struct {
	mu sync.Mutex
	by map[string]*channel
}

func (cs *channels) open(login string, key []byte) (id string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.by == nil {
		cs.by = map[string]*channel{}
	}
	if len(cs.by) >= manyChannels {
		var out *channel
		for _, c := range cs.by {
			switch {
			case out == nil, out.proved && !c.proved, out.proved == c.proved && c.last.Before(out.last):
				out = c
			}
		}
		delete(cs.by, out.id)
	}
	id = rand.Text()
	cs.by[id] = &channel{id: id, login: login, key: key, last: time.Now()}
	return id
}

// find is the channel of that id, nil if there is none.
func (cs *channels) find(id string) *channel {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.by[id]
}

// use notes that the page of c, which has proved itself, uses it. It is false where
// the channel is forgotten.
func (cs *channels) use(c *channel) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.last, c.proved = time.Now(), true
	return cs.by[c.id] == c
}

// end forgets the channels of a login.
func (cs *channels) end(login string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for id, c := range cs.by {
		if c.login == login {
			delete(cs.by, id)
		}
	}
}
