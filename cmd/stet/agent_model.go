package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/demo"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/prices"
)

// modelOptions say which model the agent asks, and where.
type modelOptions struct{ name, base, api string }

// modelOptions takes them from the configuration. Without an api the model's
// maker decides, and an endpoint of one's own speaks chat.
func (c *command) modelOptions(s *config.Config) (modelOptions, error) {
	o := modelOptions{s.Model, s.BaseURL, s.API}
	if o.name == "" {
		return o, c.usage(errors.New("--model: name a model; \"scripted\" plays one and needs no key"))
	}
	if o.api == "" && o.name != demo.ModelName {
		known, _ := prices.Lookup(o.name)
		switch {
		case known.Provider == "anthropic":
			o.api = config.APIMessages
		case known.Provider == "openai" && o.base == "":
			o.api = config.APIResponses
		case o.base != "":
			o.api = config.APIChat
		default:
			return o, c.usage(fmt.Errorf("--model: nothing is known of %q: say where it is (--base-url) and what it speaks (--api)", o.name))
		}
	}
	return o, nil
}

// openModel returns the client of the model that is asked for.
func (c *command) openModel(s *config.Config, h *house) (llm.Model, error) {
	o, err := c.modelOptions(s)
	if err != nil {
		return nil, err
	}
	h.model = o
	if o.name == demo.ModelName && o.base == "" {
		model, stop, err := demo.StartModel()
		if err != nil {
			return nil, err
		}
		h.stop = stop
		return model, nil
	}
	variable, base, ownBase := "OPENAI_API_KEY", c.getenv("OPENAI_BASE_URL"), config.OpenAIURL
	if o.api == config.APIMessages {
		variable, base, ownBase = "ANTHROPIC_API_KEY", c.getenv("ANTHROPIC_BASE_URL"), config.MessagesURL
	}
	key := c.getenv(variable)
	if o.base == "" && base == "" && key == "" {
		return nil, misconfigured(fmt.Errorf("no key for the model %s: set %s, or try --model %s", o.name, variable, demo.ModelName))
	}
	at := endpoint.Config{BaseURL: cmp.Or(o.base, base, ownBase), Key: endpoint.Secret(key), Model: o.name}
	a := advising{Model: openai.ChatClient{Endpoint: at}, name: o.name, at: at.BaseURL, variable: variable, keyed: key != ""}
	switch o.api {
	case config.APIMessages:
		a.Model = anthropic.Client{Endpoint: at}
	case config.APIResponses:
		a.Model = openai.ResponsesClient{Endpoint: at}
	}
	return a, nil
}
