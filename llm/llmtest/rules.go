package llmtest

import (
	"net/http"

	"github.com/stet-dev/stet/llm"
)

// Rules are a provider's rules for the requests that it accepts, and what it remembers and changes by itself. Without rules a
// server accepts every request that its codec can read. Package test/strictmodel has the rules of the real providers.
// Its methods may be called concurrently.
type Rules interface {
	// Enter begins a request for an answer or for a count of tokens. It returns nil for a request without rules. wire is
	// Request.Wire.
	Enter(wire string, r *http.Request, body []byte) (Exchange, *Refusal)
}

// Exchange is one request under rules. Its methods are called in this order. Leave is always called, and the others
// until the request fails.
type Exchange interface {
	// Body returns the whole body, where the client sent a part of the conversation.
	Body() []byte
	// Check refuses the request, or returns it as the model sees it. answer is not nil if the provider answers by itself.
	Check(req *llm.Request) (shown *llm.Request, answer *llm.Response, why *Refusal)
	// Keep remembers an answer, and may give it another id. whole says that no fault will cut it off.
	Keep(answer *llm.Response, whole bool)
	// Begin adds members to the beginning of an answer (Messages), or to its message (Chat Completions).
	Begin(out map[string]any, parts []llm.Part)
	// Blocks returns the parts of an answer in the format of the Messages API.
	Blocks(parts []llm.Part) []map[string]any
	// End adds members to the end of an answer of the Messages API.
	End(out map[string]any)
	Leave()
}

// Refusal is an answer that refuses a request.
type Refusal struct {
	Status int
	Body   []byte // JSON
}

func (r *Refusal) write(w http.ResponseWriter) { writeJSON(w, r.Status, r.Body) }

// Free is an exchange without rules. Its value is the body. Rules can embed it.
type Free []byte

// Body implements Exchange, and so do the other methods.
func (f Free) Body() []byte { return f }

func (f Free) Check(req *llm.Request) (*llm.Request, *llm.Response, *Refusal) { return req, nil, nil }
func (f Free) Keep(*llm.Response, bool)                                       {}
func (f Free) Begin(map[string]any, []llm.Part)                               {}
func (f Free) End(map[string]any)                                             {}
func (f Free) Leave()                                                         {}

func (f Free) Blocks(parts []llm.Part) (out []map[string]any) {
	for _, p := range parts {
		out = append(out, MessagesBlock(p))
	}
	return out
}

// enter begins a request by the server's rules.
func (s *Server) enter(wire *wire, r *http.Request, body []byte) (Exchange, *Refusal) {
	if s.cfg.Rules != nil {
		if x, why := s.cfg.Rules.Enter(wire.Name, r, body); x != nil || why != nil {
			return x, why
		}
	}
	return Free(body), nil
}
