package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/apis"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/record"
)

// apiNamed returns the API by its name in records. Requests of another name speak like Chat Completions.
func apiNamed(name string) llm.API {
	if name == record.CountTokens {
		name = llm.Messages
	}
	if api, ok := apis.Named(name); ok {
		return api
	}
	return openai.ChatAPI
}

// other is the API of requests that are only passed through.
const other = "other"

// endpoint is an API and the upstream for its requests.
type endpoint struct {
	api      string
	speaks   string    // the API whose format it has, if api is no API; empty: Messages for record.CountTokens, else not known
	codec    llm.Codec // nil: passed through
	upstream *url.URL  // nil: not known
	model    string    // the model that the path names; empty: only the body names it
	direct   bool      // the path is the API's own, and not one of a cloud
	compacts bool      // the provider is to replace the conversation by a summary
	regional bool      // a cloud's endpoint for one region
	bedrock  bool      // Amazon Bedrock, whose signatures cover the body
	unset    string    // the configuration key that would set the upstream; empty: it is set, or there is no such key
	owner    string    // whose the upstream is, if it is a provider's own by default; empty: a person chose it
	stranger string    // another provider, whose key the request carries; the upstream is then not known
}

// format returns the API whose format a request and its answer have.
func (e endpoint) format() string {
	if e.api == record.CountTokens {
		return cmp.Or(e.speaks, llm.Messages)
	}
	return cmp.Or(e.speaks, e.api)
}

// endpoints lists all endpoints, by API and by cloud.
type endpoints struct {
	messages, count, chat  endpoint
	responses, compact     endpoint
	gemini, geminiCount    endpoint
	codeAssist             endpoint // for users who are logged in with an account: passed through
	vertex, azure, bedrock *url.URL // nil: not configured
}

// endpointsOf returns the endpoints for upstreams. docs/proxy.md explains how a path is joined to one.
func endpointsOf(u llm.Upstreams) (e endpoints, err error) {
	base := func(name, base string) *url.URL {
		target, parseErr := parseBase(base)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("upstream for %s: %w", name, parseErr)
		}
		return target
	}
	own := func(name, usual string) endpoint {
		api := apiNamed(name)
		to := endpoint{api: name, codec: api.Codec, direct: true}
		if u[name] == "" {
			to.owner, to.unset = api.Provider, "upstream-"+name
		}
		to.upstream = base(name, cmp.Or(u[name], usual, api.Upstream))
		return to
	}
	e.messages, e.chat, e.responses, e.gemini = own(llm.Messages, ""), own(llm.Chat, ""), own(llm.Responses, ""), own(llm.Gemini, "")
	e.count, e.geminiCount, e.compact = e.messages, e.gemini, e.responses
	e.count.api = record.CountTokens
	e.geminiCount.api, e.geminiCount.speaks = record.CountTokens, llm.Gemini
	e.compact.compacts = true
	e.codeAssist = own(llm.Gemini, "https://cloudcode-pa.googleapis.com")
	e.codeAssist.codec = nil // passed through
	cloud := func(name, at string) *url.URL {
		if at == "" {
			return nil
		}
		return base(name, at)
	}
	e.vertex, e.azure, e.bedrock = cloud(llm.Vertex, u[llm.Vertex]), cloud(llm.Azure, azureResource(u[llm.Azure])), cloud(llm.Bedrock, u[llm.Bedrock])
	return e, err
}

func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL") // the URL may hold a password, so it is not quoted
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%q is not an http:// or https:// URL", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("%q has a user name in it: keys are the client's to send", u.Redacted())
	}
	return u, nil
}

// chatPaths are the top paths of the Chat API's provider, for requests that are passed through.
var chatPaths = []string{
	"/assistants", "/audio", "/batches", "/chat", "/chatkit", "/completions", "/containers", "/conversations", "/edits", "/embeddings", "/engines", "/evals", "/files",
	"/fine_tuning", "/images", "/models", "/moderations", "/organization", "/realtime", "/threads", "/uploads", "/vector_stores", "/videos",
}

// messagesPaths are other paths of the Messages API's provider, which its agents use.
var messagesPaths = []string{"/api/claude_cli", "/api/claude_code", "/api/event_logging", "/api/hello", "/api/oauth"}

// foreign reports whether a request carries a header that only other providers use.
func foreign(r *http.Request) bool {
	return r.Header.Get("Api-Key") != "" || signed(r)
}

// messagesKey reports whether a request carries a header that only the Messages API's provider uses: its version, or its key
// if no other key is present.
func messagesKey(r *http.Request) bool {
	key := r.Header.Get("Authorization")
	return r.Header.Get("Anthropic-Version") != "" || key == "" && r.Header.Get("X-Api-Key") != "" || ownerOf(key) == anthropicOwner
}

// of returns the endpoint for a request. If its upstream is nil, the provider is not known, or the request carries the key of another one
// than the upstream's. An upstream that a person chose gets every key.
func (e *endpoints) of(r *http.Request) endpoint {
	to := e.byPath(r)
	if to.owner != "" {
		if to.stranger = stranger(r, to.owner); to.stranger != "" {
			to.upstream = nil
		}
	}
	return to
}

// byPath returns the endpoint for a request by its path and, if the path has several, by its key.
func (e *endpoints) byPath(r *http.Request) endpoint {
	path := slashes.ReplaceAllString(r.URL.Path, "/") // for matching only: the path goes upstream unchanged
	if rest, ok := strings.CutPrefix(path, "/v1"); ok && strings.HasPrefix(rest, "/") {
		path = rest
	}
	if to, ok := e.google(r.Method, path); ok {
		return to
	}
	if to, ok := e.cloud(r.Method, path); ok {
		return to
	}
	if r.Method == http.MethodPost {
		switch path {
		case "/messages":
			return e.messages
		case "/messages/count_tokens":
			return e.count
		case "/chat/completions":
			return e.chat
		case "/responses":
			return e.responses
		case "/responses/compact":
			return e.compact
		}
	}
	below := func(top string) bool { return path == top || strings.HasPrefix(path, top+"/") }
	switch {
	case below("/messages"):
		return pass(e.messages)
	case below("/chat"):
		return pass(e.chat)
	case below("/responses"):
		return pass(e.responses)
	case foreign(r):
		return endpoint{api: other}
	case googleKey(r):
		return pass(e.gemini)
	case r.URL.Path == "/", r.URL.Path == "", messagesKey(r), slices.ContainsFunc(messagesPaths, below):
		return pass(e.messages)
	case slices.ContainsFunc(chatPaths, below):
		return pass(e.chat)
	case e.messages.upstream.Host == e.chat.upstream.Host && e.chat.upstream.Host == e.responses.upstream.Host:
		return pass(e.chat) // all APIs have the same upstream host
	}
	return endpoint{api: other}
}

// pass returns an endpoint that passes requests through to the upstream of to.
func pass(to endpoint) endpoint {
	return endpoint{api: other, speaks: to.format(), upstream: to.upstream, owner: to.owner, unset: to.unset}
}

var slashes = regexp.MustCompile(`//+`)

// endsInVersion also matches the base URL of Codex with a ChatGPT account, whose paths have no version.
var endsInVersion = regexp.MustCompile(`/(v[0-9]+[a-z0-9]*|backend-api/codex)/*$`)

// asksVersion matches the version at the beginning of a request's path.
var asksVersion = regexp.MustCompile(`^/v1((alpha|beta)[0-9]*)?(/|$)`)

// Versioned reports whether a base URL, or its path, ends in a version ("/v1"). This version then replaces the version of the requests.
func Versioned(base string) bool {
	path, _, _ := strings.Cut(base, "?")
	return endsInVersion.MatchString(path)
}

// join returns the client's URL u on the upstream base.
func join(base, u *url.URL) *url.URL {
	prefix, path := strings.TrimRight(base.EscapedPath(), "/"), u.EscapedPath()
	if asked := strings.TrimSuffix(asksVersion.FindString(path), "/"); asked != "" && Versioned(prefix) {
		if rest, ok := strings.CutSuffix(prefix, "/v1"); ok && asked != "/v1" {
			prefix = rest // a preview may have paths that v1 does not have
		} else {
			path = path[len(asked):]
		}
	}
	out := *base
	out.Fragment, out.RawFragment = "", ""
	escaped := prefix + path
	if plain, err := url.PathUnescape(escaped); err == nil {
		out.Path, out.RawPath = plain, escaped
	}
	switch {
	case base.RawQuery == "":
		out.RawQuery, out.ForceQuery = u.RawQuery, u.ForceQuery
	case u.RawQuery != "":
		out.RawQuery = base.RawQuery + "&" + u.RawQuery
	}
	return &out
}

// The path of a request may name its agent: /stet/NAME/v1/messages begins with agentPath and the name. An agent gets such a path
// when it used a base URL of its own before it was set up. Config.Agents returns its upstreams.
const agentPath = "/stet/"

// agentOf returns the endpoints for a request, and the request with the agent's name cut from its path.
// If the path names no agent, the request is returned unchanged.
func (p *Proxy) agentOf(r *http.Request) (*endpoints, *http.Request, error) {
	rest, named := strings.CutPrefix(r.URL.Path, agentPath)
	if !named || p.config.Agents == nil {
		return &p.endpoints, r, nil
	}
	name, _, _ := strings.Cut(rest, "/")
	upstreams, err := p.config.Agents(name)
	if err != nil {
		return &p.endpoints, r, err
	}
	e, err := endpointsOf(upstreams)
	if err != nil {
		return &p.endpoints, r, err
	}
	plain, to := *r, *r.URL
	to.Path, to.RawPath = strings.TrimPrefix(to.Path, agentPath+name), strings.TrimPrefix(to.RawPath, agentPath+name)
	plain.URL = &to
	return &e, &plain, nil
}
