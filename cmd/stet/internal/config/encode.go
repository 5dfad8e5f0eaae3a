package config

import (
	"bytes"
	"encoding/gob"

	"github.com/stet-dev/stet/llm"
)

// encoded is a Config for another process: the values of its layers, and where its requests go.
type encoded struct {
	Values   []map[string]any
	Upstream llm.Upstreams
}

// Encode returns the configuration for Decode in another process of the same program, which then does not read the files again. Rules of
// file tools are not in it.
func (c *Config) Encode() ([]byte, error) {
	registerValues()
	e := encoded{Upstream: c.Upstream}
	for _, l := range c.layers {
		e.Values = append(e.Values, l.values)
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(e)
	return b.Bytes(), err
}

// Decode returns the configuration that Encode encoded.
func Decode(b []byte) (*Config, error) {
	registerValues()
	var e encoded
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&e); err != nil {
		return nil, err
	}
	c := new(Config)
	for _, values := range e.Values {
		c.layers = append(c.layers, layer{values: values})
	}
	if err := c.fill(c.layers); err != nil {
		return nil, err
	}
	if err := c.loadUpstreams(); err != nil {
		return nil, err
	}
	c.Upstream = e.Upstream
	return c, nil
}

// registerValues names the types of values that have parts.
func registerValues() {
	gob.Register([]any{})
	gob.Register(map[string]any{})
}
