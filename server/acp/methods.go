package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/llm"
	stored "github.com/stet-dev/stet/session"
)

// The methods of the protocol that the agent answers, and how the connection begins.

// handle implements sdk.MethodHandler.
func (c *connection) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil, sdk.NewRequestCancelled("the connection is over")
	}
	c.handling.Add(1)
	initialized := c.client != nil
	c.mu.Unlock()
	defer c.handling.Done()

	if method == sdk.AgentMethodSessionPrompt { // every prompt must be counted, also an invalid one
		if s := c.session(sessionIn(params)); s != nil {
			p := s.promptTaken()
			defer s.promptOver(p)
			ctx = context.WithValue(ctx, promptKey{}, p)
		}
	}
	answer, known := methods[method]
	switch {
	case !known:
		return nil, sdk.NewMethodNotFound(method)
	case !initialized && method != sdk.AgentMethodInitialize:
		return nil, worded(sdk.NewInvalidRequest, "call initialize first")
	}
	result, err := answer(c, ctx, params)
	if err != nil {
		return nil, c.asError(method, err)
	}
	return result, nil
}

// promptKey is the context key of a prompt's *promptStart.
type promptKey struct{}

type method func(c *connection, ctx context.Context, params json.RawMessage) (any, error)

// methods are the methods that the agent answers.
var methods = map[string]method{
	sdk.AgentMethodInitialize:     typed((*connection).initialize),
	sdk.AgentMethodAuthenticate:   typed((*connection).authenticate),
	sdk.AgentMethodSessionNew:     typed((*connection).newSession),
	sdk.AgentMethodSessionLoad:    typed((*connection).loadSession),
	sdk.AgentMethodSessionResume:  typed((*connection).resumeSession),
	sdk.AgentMethodSessionList:    typed((*connection).listSessions),
	sdk.AgentMethodSessionClose:   typed((*connection).closeSession),
	sdk.AgentMethodSessionSetMode: typed((*connection).setMode),
	sdk.AgentMethodSessionPrompt:  typed((*connection).prompt),
}

// typed makes a method from a function with a request type of the protocol.
func typed[P any, R any, V interface {
	*P
	Validate() error
}](do func(*connection, context.Context, P) (R, error)) method {
	return func(c *connection, ctx context.Context, params json.RawMessage) (any, error) {
		var p P
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, wrong("%v", err)
		}
		if err := V(&p).Validate(); err != nil {
			return nil, wrong("%v", err)
		}
		return do(c, ctx, p)
	}
}

// wrong returns the error for invalid parameters.
func wrong(format string, args ...any) error {
	return worded(sdk.NewInvalidParams, fmt.Sprintf(format, args...))
}

// worded returns an error with words in its message, because clients show the message.
func worded(kind func(any) *sdk.RequestError, words string) *sdk.RequestError {
	e := kind(nil)
	e.Message += ": " + words
	return e
}

// notFound is the protocol's code for a missing resource.
const notFound = -32002

// asError converts an error to the form of the protocol.
func (c *connection) asError(method string, err error) *sdk.RequestError {
	var known *sdk.RequestError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrDirectory):
		return worded(sdk.NewInvalidParams, err.Error())
	case errors.Is(err, stored.ErrNotFound):
		return &sdk.RequestError{Code: notFound, Message: err.Error()}
	case errors.Is(err, llm.ErrAuth):
		return worded(sdk.NewAuthRequired, err.Error())
	case errors.Is(err, context.Canceled):
		return sdk.NewRequestCancelled(nil)
	}
	c.config.log().Error("request", "method", method, "err", err)
	return worded(sdk.NewInternalError, err.Error())
}

// keyMethod is the only way to authenticate: the person sets a key in the environment of the agent.
const keyMethod = "key"

func (c *connection) initialize(_ context.Context, p sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	c.mu.Lock()
	c.client = &p
	c.mu.Unlock()
	r := sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "stet", Version: c.config.Version},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
			PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true, Image: c.config.Image != nil},
			SessionCapabilities: sdk.SessionCapabilities{
				Close: &sdk.SessionCloseCapabilities{}, List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
			},
		},
		AuthMethods: []sdk.AuthMethod{},
	}
	if err := c.config.ready(); err != nil {
		what := err.Error()
		r.AuthMethods = append(r.AuthMethods, sdk.AuthMethod{Agent: &sdk.AuthMethodAgent{
			Id: keyMethod, Name: "Key of the model's provider", Description: &what,
		}})
	}
	return r, nil
}

func (c *connection) authenticate(_ context.Context, p sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if p.MethodId != keyMethod {
		return sdk.AuthenticateResponse{}, wrong("there is no way %q to authenticate", p.MethodId)
	}
	return sdk.AuthenticateResponse{}, c.needReady()
}

// needReady returns an error if something is missing before a model can be asked.
func (c *connection) needReady() error {
	if err := c.config.ready(); err != nil {
		return worded(sdk.NewAuthRequired, err.Error())
	}
	return nil
}
