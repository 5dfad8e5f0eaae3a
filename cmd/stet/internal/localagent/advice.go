package localagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/stet-dev/stet/llm"
)

// advising is a model whose errors say what a person can do.
type advising struct {
	llm.Model
	name     string // the model's
	at       string // its endpoint's base URL
	variable string // the variable with its key
	keyed    bool   // there is a key
}

func (a advising) Complete(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	r, err := a.Model.Complete(ctx, req)
	return r, a.advise(err)
}

func (a advising) Stream(ctx context.Context, req *llm.Request, each func(llm.Event)) (*llm.Response, error) {
	r, err := a.Model.Stream(ctx, req, each)
	return r, a.advise(err)
}

// ChecksThinking implements llm.ThinkingChecker.
func (a advising) ChecksThinking() bool {
	of, ok := a.Model.(llm.ThinkingChecker)
	return ok && of.ChecksThinking()
}

// base returns the URL of the model without a password.
func (a advising) base() string {
	u, err := url.Parse(a.at)
	if err != nil {
		return "the endpoint"
	}
	return u.Redacted()
}

func (a advising) advise(err error) error {
	var said *llm.Error
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, llm.ErrAuth) && !a.keyed:
		return fmt.Errorf("%w; no key was sent: set %s", err, a.variable)
	case errors.Is(err, llm.ErrAuth):
		return fmt.Errorf("%w; the key was that of %s: is it for this endpoint (--base-url), and still valid?", err, a.variable)
	case errors.As(err, &said) && said.Status == http.StatusNotFound:
		return fmt.Errorf("%w; is there a model %q (--model) at %s (--base-url)?", err, a.name, a.base())
	case errors.As(err, &network) && network.Op == "dial":
		return fmt.Errorf("%w; is there an endpoint at %s (--base-url), and can it be reached?", err, a.base())
	}
	return err
}
