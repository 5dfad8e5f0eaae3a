package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/llm"
)

// lasting says how to send all runs of an agent through the proxy: by base URLs in its own configuration, or by the variables for a forward
// proxy there.
type lasting struct {
	file   func(m Machine) string // empty if there is no home directory
	toml   bool                   // false: JSON, with or without comments
	values func(m Machine) []baseURL
	env    string // the object of the file with environment variables that the agent gives itself; empty: there is none
	note   string // what else the person should know
}

// baseURL is a base URL in an agent's configuration.
type baseURL struct {
	path []string // of keys
	apis []string // the APIs asked at this URL
	// asks is the URL that the agent uses if the configuration has none; empty: the provider's URL for the API.
	asks string
	bare bool // the agent adds the version to the URL
}

// ProxyAgents returns the names of the agents whose every run can be sent through the proxy.
func ProxyAgents() []string { return namesOf(func(a *agent) bool { return a.lasting != nil }) }

// Lasting has the agents whose every run goes through the proxy, by name. It is stored in a file.
type Lasting map[string]LastingAgent

// LastingAgent has the changes in an agent's configuration.
type LastingAgent struct {
	File   string         `json:"file"`
	Values []LastingValue `json:"values"`
	Trust  string         `json:"trust,omitempty"` // the file of certificates that it trusts; empty: it does not use the forward proxy
}

// LastingValue is a base URL that stet set, or another setting: one for the forward proxy, or one that keeps the agent's own behaviour.
// These have no APIs.
type LastingValue struct {
	Path []string `json:"path"` // of keys
	Ours string   `json:"ours"`
	Bool bool     `json:"bool,omitempty"` // it is the JSON value true
	Was  *string  `json:"was"`            // the old value; null: none
	Made int      `json:"made,omitempty"` // how many of the objects above it were also made
	// Asked is the URL that the agent would use without stet, if it is not the provider of the APIs; the proxy forwards its
	// requests there.
	Asked string   `json:"asked,omitempty"`
	APIs  []string `json:"apis,omitempty"`
}

// ReadLasting reads the file. A missing file is empty.
func ReadLasting(file string) (Lasting, error) {
	l := Lasting{}
	if err := readState(file, &l); err != nil {
		return nil, fmt.Errorf("what stet has set up: %w", err)
	}
	return l, nil
}

// readState reads a file of stet's state. A missing file leaves the value as it is.
func readState(file string, into any) error {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	return err
}

func writeState(file string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(file, append(b, '\n'), 0o600, true)
}

// value returns a text as the JSON value that it means.
func (v LastingValue) value(text string) any {
	if v.Bool {
		return text == "true"
	}
	return text
}

// row returns the row of a value that stet sets to ours, with what restore needs to put back what is in the file now.
func (l LastingAgent) row(f *configFile, path []string, ours string) (row LastingValue, now string, there bool, err error) {
	row = LastingValue{Path: path, Ours: ours}
	if now, there, err = f.lookup(path); err != nil {
		return row, "", false, err
	}
	i := slices.IndexFunc(l.Values, func(k LastingValue) bool { return slices.Equal(k.Path, path) && there && k.Ours == now })
	switch {
	case i >= 0: // set up again
		row.Was, row.Made = l.Values[i].Was, l.Values[i].Made
	case there:
		row.Was = &now
	default:
		row.Made = f.missing(path)
	}
	return row, now, there, nil
}

// Names returns the agents in order.
func (l Lasting) Names() []string { return slices.Sorted(maps.Keys(l)) }

// Asked returns the URLs that an agent would use without stet, for the APIs that it does not ask at their provider.
func (l Lasting) Asked(agent string) llm.Upstreams {
	asked := llm.Upstreams{}
	for _, v := range l[agent].Values {
		for _, api := range v.APIs {
			if v.Asked != "" {
				asked[api] = v.Asked
			}
		}
	}
	return asked
}

// before returns the value that base has replaced in an agent's configuration. It is base itself if AddProxy did not set base.
func (l Lasting) before(agent, base string, path ...string) string {
	for _, v := range l[agent].Values {
		switch {
		case v.Ours != base || !slices.Equal(v.Path, path):
		case v.Was == nil:
			return ""
		default:
			return *v.Was
		}
	}
	return base
}
