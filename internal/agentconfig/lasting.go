package agentconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// lasting says how an agent is sent through the proxy in all of its runs: by base URLs in its own configuration.
type lasting struct {
	file   func(m Machine) string // empty when there is no home to put it in
	toml   bool                   // else JSON, with or without comments
	values func(m Machine) []baseURL
	note   string // what else the person should know
}

// baseURL is a base URL in an agent's configuration.
type baseURL struct {
	path []string // of keys
	apis []API    // that are asked there
	// asks is where the agent asks if nothing stands there; empty: at the provider of the API.
	asks string
	bare bool // the agent puts the version behind it
}

// ProxyAgents are the names of the agents that can be sent through the proxy for good.
func ProxyAgents() (names []string) {
	for _, a := range agents {
		if a.lasting != nil {
			names = append(names, a.name)
		}
	}
	return names
}

// Lasting are the agents that go through the proxy for good, by name. It is kept in a file.
type Lasting map[string]LastingAgent

// LastingAgent is what was changed in an agent's configuration.
type LastingAgent struct {
	File   string         `json:"file"`
	Values []LastingValue `json:"values"`
}

// LastingValue is a base URL that was put in place.
type LastingValue struct {
	Path []string `json:"path"` // of keys
	Ours string   `json:"ours"`
	Was  *string  `json:"was"`            // what stood there; null: nothing did
	Made int      `json:"made,omitempty"` // how many of the objects above it were made too
	// Asked is where the agent would ask without stet, if that is not the provider of the APIs; the proxy sends its requests on to there.
	Asked string `json:"asked,omitempty"`
	APIs  []API  `json:"apis,omitempty"`
}

// ReadLasting reads the file. One that is not there is empty.
func ReadLasting(file string) (Lasting, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Lasting{}, nil
	}
	l := Lasting{}
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		return nil, fmt.Errorf("what stet has set up: %w", err)
	}
	return l, nil
}

func (l Lasting) write(file string) error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return writeFile(file, append(b, '\n'), 0o600)
}

// Names are the agents, in order.
func (l Lasting) Names() []string { return slices.Sorted(maps.Keys(l)) }

// Asked returns where an agent would ask without stet, for the APIs that it does not ask at their provider for.
func (l Lasting) Asked(agent string) map[API]string {
	asked := map[API]string{}
	for _, v := range l[agent].Values {
		for _, api := range v.APIs {
			if v.Asked != "" {
				asked[api] = v.Asked
			}
		}
	}
	return asked
}

// before returns what stood in an agent's configuration in place of base, which stands there now: base itself, unless AddProxy put it
// there.
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

// Programs are the names of the agents that stet knows how to send through the proxy, as they are started.
func Programs() []string {
	names := []string{"claude", "qwen", "aider"} // these go by the environment alone
	for _, a := range agents {
		if len(a.programs) > 0 {
			names = append(names, a.programs[0])
		}
	}
	slices.Sort(names)
	return names
}
