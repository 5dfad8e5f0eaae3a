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

// handle implements sdk.MethodHandler.
func (l *link) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return nil, sdk.NewRequestCancelled("the connection is over")
	}
	l.handling.Add(1)
	greeted := l.client != nil
	l.mu.Unlock()
	defer l.handling.Done()

	if method == sdk.AgentMethodSessionPrompt { // whatever becomes of it
		cancelled := false
		if s := l.session(sessionIn(params)); s != nil {
			cancelled = s.take()
		}
		ctx = context.WithValue(ctx, early{}, cancelled)
	}
	answer, known := methods[method]
	switch {
	case !known:
		return nil, sdk.NewMethodNotFound(method)
	case !greeted && method != sdk.AgentMethodInitialize:
		return nil, worded(sdk.NewInvalidRequest, "say initialize first")
	}
	result, err := answer(l, ctx, params)
	if err != nil {
		return nil, l.asError(method, err)
	}
	return result, nil
}

// early is the key of whether a prompt was cancelled before it was begun.
type early struct{}

type method func(l *link, ctx context.Context, params json.RawMessage) (any, error)

// methods are those that the agent answers.
var methods = map[string]method{
	sdk.AgentMethodInitialize:     typed((*link).initialize),
	sdk.AgentMethodAuthenticate:   typed((*link).authenticate),
	sdk.AgentMethodSessionNew:     typed((*link).newSession),
	sdk.AgentMethodSessionLoad:    typed((*link).loadSession),
	sdk.AgentMethodSessionResume:  typed((*link).resumeSession),
	sdk.AgentMethodSessionList:    typed((*link).listSessions),
	sdk.AgentMethodSessionClose:   typed((*link).closeSession),
	sdk.AgentMethodSessionSetMode: typed((*link).setMode),
	sdk.AgentMethodSessionPrompt:  typed((*link).prompt),
}

// typed makes a method of a function over one of the protocol's requests.
func typed[P any, R any, V interface {
	*P
	Validate() error
}](do func(*link, context.Context, P) (R, error)) method {
	return func(l *link, ctx context.Context, params json.RawMessage) (any, error) {
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
		return do(l, ctx, p)
	}
}

// wrong is the error for parameters that cannot be.
func wrong(format string, args ...any) error {
	return worded(sdk.NewInvalidParams, fmt.Sprintf(format, args...))
}

// worded puts the words where clients show them.
func worded(kind func(any) *sdk.RequestError, words string) *sdk.RequestError {
	e := kind(nil)
	e.Message += ": " + words
	return e
}

// notFound is the protocol's code for a resource that is not there.
const notFound = -32002

// asError says an error as the protocol does.
func (l *link) asError(method string, err error) *sdk.RequestError {
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
	l.config.log().Error("request", "method", method, "err", err)
	return worded(sdk.NewInternalError, err.Error())
}
