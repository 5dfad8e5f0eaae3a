package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/prices"
)

// The values of api.
const (
	apiMessages  = "anthropic"
	apiChat      = "chat"
	apiResponses = "responses"
)

// scriptedModel is the name of the model that needs no key.
const scriptedModel = "scripted"

// modelOptions say which model the agent asks, and where.
type modelOptions struct{ name, base, api string }

// modelOptions reads them: flags before STET_* before the files. Without an api
// the model's maker decides, and an endpoint of one's own speaks chat.
func (p *program) modelOptions(cmd *cobra.Command) (modelOptions, error) {
	flags := values{}
	for _, key := range []string{"model", "base-url", "api"} {
		f := cmd.Flags().Lookup(key)
		if f == nil || !f.Changed {
			continue
		}
		s, _ := settingOf(key)
		if err := s.accepts(f.Value.String()); err != nil {
			return modelOptions{}, usage(cmd, fmt.Errorf("--%s: %w", key, err))
		}
		flags[key] = f.Value.String()
	}
	files, own, err := p.loadConfig(flags)
	if err != nil {
		return modelOptions{}, err
	}
	if err := files.Merge(own); err != nil {
		return modelOptions{}, misconfigured(err)
	}
	o := modelOptions{files.String("model"), files.String("base-url"), files.String("api")}
	if o.name == "" {
		return o, usage(cmd, errors.New("--model: name a model; \"scripted\" plays one and needs no key"))
	}
	if o.api == "" && o.name != scriptedModel {
		known, _ := prices.Lookup(o.name)
		switch {
		case known.Provider == "anthropic":
			o.api = apiMessages
		case known.Provider == "openai" && o.base == "":
			o.api = apiResponses
		case o.base != "":
			o.api = apiChat
		default:
			return o, usage(cmd, fmt.Errorf("--model: nothing is known of %q: say where it is (--base-url) and what it speaks (--api)", o.name))
		}
	}
	return o, nil
}

// openModel returns the client of the model that is asked for.
func (p *program) openModel(cmd *cobra.Command, h *house) (llm.Model, error) {
	o, err := p.modelOptions(cmd)
	if err != nil {
		return nil, err
	}
	h.model = o
	if o.name == scriptedModel && o.base == "" {
		model, stop, err := playModel()
		if err != nil {
			return nil, err
		}
		h.stop = stop
		return model, nil
	}
	variable, base, ownBase := "OPENAI_API_KEY", p.getenv("OPENAI_BASE_URL"), ownOpenAI
	if o.api == apiMessages {
		variable, base, ownBase = "ANTHROPIC_API_KEY", p.getenv("ANTHROPIC_BASE_URL"), ownMessages
	}
	key := p.getenv(variable)
	if o.base == "" && base == "" && key == "" {
		return nil, misconfigured(fmt.Errorf("no key for the model %s: set %s, or try --model %s", o.name, variable, scriptedModel))
	}
	c := endpoint.Config{BaseURL: cmp.Or(o.base, base, ownBase), Key: endpoint.Secret(key), Model: o.name}
	a := advising{Model: openai.ChatClient{Endpoint: c}, name: o.name, at: c.BaseURL, variable: variable, keyed: key != ""}
	switch o.api {
	case apiMessages:
		a.Model = anthropic.Client{Endpoint: c}
	case apiResponses:
		a.Model = openai.ResponsesClient{Endpoint: c}
	}
	return a, nil
}

func checkAPI(v any) error {
	switch s := v.(string); s {
	case apiMessages, apiChat, apiResponses:
		return nil
	default:
		return fmt.Errorf("unknown API %q: choose %s, %s or %s", s, apiMessages, apiChat, apiResponses)
	}
}
