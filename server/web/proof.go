package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"strings"
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
// The page makes the nonce and the server the channel; both are random. A number
// is used once in its channel. The server takes no request twice, and none that the
// page has not made. So a program that has taken over the port of a server can do
// nothing with the requests it sees.
const proofHeader = "Stet-Proof"

// Hello is the body of POST /api/hello, by which a page opens a channel.
type Hello struct {
	Login string `json:"login" max:"4096"`
	Nonce string `json:"nonce"`
	MAC   string `json:"mac"`
}

// Welcome is the answer. Channel is empty where the login has ended.
type Welcome struct {
	Channel string `json:"channel"`
	MAC     string `json:"mac"`
}

func (h *Handler) hello(r *http.Request, in Hello) (any, error) {
	key := h.keyOf(r, in.Login)
	if !proves(in.MAC, key, "hello", in.Login, in.Nonce) {
		return nil, problem{http.StatusUnauthorized, "this server does not know this login"}
	}
	out := Welcome{}
	if _, ok := h.holds(in.Login); ok {
		out.Channel = h.channels.open(in.Login, key)
	}
	out.MAC = encode(macOf(key, "welcome", in.Nonce, out.Channel))
	return out, nil
}

// proves reports whether mac is the MAC over parts.
func proves(mac string, key []byte, parts ...string) bool {
	return hmac.Equal([]byte(mac), []byte(encode(macOf(key, parts...))))
}

// caller is the person of a request, and the channel of their page; nil: the request came over a socket of this machine.
type caller struct {
	person  Person
	channel *channel
	local   bool // a program of this user, over a socket of this machine
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// who returns the name of the person of a request.
func who(ctx context.Context) string { return callerOf(ctx).person.Name }

// personal serves a request of a person who is logged in.
type personal func(w http.ResponseWriter, r *http.Request) error

// person accepts requests of people who are logged in.
func (h *Handler) person(next personal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if callerOf(r.Context()).person.ID != "" { // see Local
			if err := next(w, r); err != nil {
				h.fail(w, r, err)
			}
			return
		}
		w, by, err := h.prove(w, r)
		if err == nil {
			ctx, cancel := context.WithCancel(context.WithValue(r.Context(), callerKey{}, by))
			defer cancel()
			defer context.AfterFunc(by.channel.open, cancel)()
			err = next(w, r.WithContext(ctx))
		}
		if err != nil {
			h.fail(w, r, err)
		}
	})
}

// admin accepts requests of admins.
func (h *Handler) admin(next personal) http.Handler {
	return h.person(func(w http.ResponseWriter, r *http.Request) error {
		if p := callerOf(r.Context()).person; !p.Admin {
			return problem{http.StatusForbidden, p.Name + " may answer questions; this is for the role admin"}
		}
		return next(w, r)
	})
}

// open serves a request without a login. Its body is short.
func (h *Handler) open(serve endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxOpen)
		if err := h.answered(serve)(w, r); err != nil {
			h.fail(w, r, err)
		}
	})
}

// proved is the writer of an answer to a proved request.
type proved struct {
	http.ResponseWriter
	key []byte
	mac string // of the request
}

// Unwrap is for http.ResponseController.
func (p *proved) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// sign adds the proof of an answer, if the request had one.
func sign(w http.ResponseWriter, status int, body []byte) {
	if p, ok := w.(*proved); ok {
		p.Header().Set(proofHeader, encode(macOf(p.key, "answer", p.mac, strconv.Itoa(status), hashOf(body))))
	}
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return encode(sum[:])
}

// prove checks the proof of a request, and returns the writer that proves its answer. The proof contains the hash of the body, so
// the body is read only after the proof is valid.
func (h *Handler) prove(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, caller, error) {
	refused := problem{http.StatusUnauthorized, "log in by the link that stet printed"}
	parts := strings.Split(r.Header.Get(proofHeader), ".")
	if len(parts) != 4 {
		return w, caller{}, refused
	}
	id, number, hash, mac := parts[0], parts[1], parts[2], parts[3]
	c := h.channels.find(id)
	if c == nil || !proves(mac, c.key, "request", id, number, r.Method, r.URL.RequestURI(), hash) {
		return w, caller{}, refused
	}
	if n, err := strconv.ParseUint(number, 10, 64); err != nil || !c.useOnce(n) || !h.channels.use(c) {
		return w, caller{}, refused
	}
	w.Header().Set(proofHeader, encode(macOf(c.key, "stream", mac))) // for a stream; sign replaces it for other answers
	direct := w
	w = &proved{w, c.key, mac}
	person, ok := h.holds(c.login)
	if !ok {
		return w, caller{}, refused
	}
	body, err := io.ReadAll(http.MaxBytesReader(direct, r.Body, maxBody))
	if err != nil {
		return w, caller{}, invalid("read the body: %v", err)
	}
	if hash != hashOf(body) {
		return w, caller{}, invalid("the body is not the one that the page sent")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return w, caller{person: person, channel: c}, nil
}

// Limits of a request's body in bytes. A person's body has space for the largest text that can be written, with its escapes.
const (
	maxBody = 32 << 20
	maxOpen = 4 << 10
)
