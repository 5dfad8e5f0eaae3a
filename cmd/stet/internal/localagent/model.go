package localagent

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/apis"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/llm/prices"
)

// The model of the agent: chosen by the settings, and opened.

// Model names the model and its endpoint.
type Model struct {
	Name string
	Base string // base URL; empty: the provider's default
	API  string // a value of the key api; empty for the scripted model
}

// ChooseModel returns the configured model. Without an API, the model's maker decides, and an endpoint with a custom base URL gets
// chat.
func ChooseModel(c *config.Config) (Model, error) {
	m := Model{c.Model, c.BaseURL, c.API}
	if m.Name == "" {
		return m, &config.FlagError{Err: errors.New("--model: name a model; \"scripted\" plays one and needs no key")}
	}
	if m.API == "" && m.Name != demo.ModelName {
		known, _ := prices.Lookup(m.Name)
		switch {
		case known.Provider == "anthropic":
			m.API = llm.Messages
		case known.Provider == "openai" && m.Base == "":
			m.API = llm.Responses
		case m.Base != "":
			m.API = llm.Chat
		default:
			return m, &config.FlagError{Err: fmt.Errorf("--model: %q is not known: give its address (--base-url) and its API (--api)", m.Name)}
		}
	}
	return m, nil
}

// Open returns the client of the model. stop ends a scripted one.
func (m Model) Open(getenv func(string) string) (_ llm.Model, stop func(), err error) {
	if m.Name == demo.ModelName && m.Base == "" {
		return demo.StartModel()
	}
	api, ok := apis.Named(m.API)
	if !ok || api.Reader == nil {
		api = openai.ChatAPI
	}
	base, key := getenv(api.URLVariable), getenv(api.KeyVariable)
	if m.Base == "" && base == "" && key == "" {
		return nil, nil, fmt.Errorf("no key for the model %s: set %s, or try --model %s", m.Name, api.KeyVariable, demo.ModelName)
	}
	at := endpoint.Config{BaseURL: cmp.Or(m.Base, base, api.Upstream), Key: endpoint.Secret(key), Model: m.Name}
	return advising{Model: endpoint.Client{API: api, Config: at}, name: m.Name, at: at.BaseURL, variable: api.KeyVariable, keyed: key != ""}, func() {}, nil
}

// images are the kinds of images that models take.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Image makes a part of an image; false if models do not accept it. Every codec writes the image as its API has it.
func (m Model) Image(mime, data string) (llm.Part, bool) {
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || !slices.Contains(images, mime) {
		return llm.Part{}, false
	}
	type object = map[string]any
	raw, err := json.Marshal(object{"type": "image", "source": object{"type": "base64", "media_type": mime, "data": data}})
	return llm.Part{Kind: llm.Opaque, Raw: string(raw)}, err == nil
}
