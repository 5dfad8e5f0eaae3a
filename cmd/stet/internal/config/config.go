// Package config reads the configuration: flags, environment variables, the project's file and the user's file. For each key, the
// first of these that has it counts.
//
// The table in keys.go has a row for each key: its type, its default, its allowed values, its help, and whether a project's file
// may set it. Flags, the page docs/configuration.md and its JSON Schema are made from the table. [Load] reads all layers into one
// [Config].
//
// A key has the same name everywhere: key "lang", flag --lang, variable STET_LANG. A dash is an underscore in the variable's name.
//
// The project's file comes with a checkout and is not trusted. It cannot set where requests go, who may connect, or which files are
// written. Its rules can only restrict.
package config

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/apis"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/dialect"
)

// Config is the configuration after all layers. A field without a comment is
// explained by its key's help, in the table.
type Config struct {
	Policy      trim.Policy
	Keep        int
	KeepShell   int
	BySize      bool
	ByContent   bool
	LineNumbers trim.LineNumbers
	Lang        string
	Placeholder string
	ProjectRoot string
	Via         string
	Observe     bool
	Threads     string
	Clear       bool
	Dialects    *dialect.Table // nil: the built-in table

	Record      bool
	RecordDays  int
	Holdout     int
	Limits      Limits
	Store       string // empty: the file in the state directory
	ProxyMemory int    // megabytes
	AuditDays   int
	AskWait     int // seconds
	AskPause    int // seconds
	Prices      string
	Log         string
	Listen      string

	// Upstream says where requests go: by flags and environment; after [Config.Route], by all layers.
	Upstream llm.Upstreams

	Model        string
	BaseURL      string
	API          string
	ProjectNotes bool

	Rules        []policy.Rule // of the user's file
	ProjectRules []policy.Rule // from the project's file of the workspace; they only restrict
	MCP          []MCPServer
	Elicitation  string
	Unread       policy.Action
	Relative     bool
	Secrets      policy.Action
	Suspicion    policy.Response
	Notify       notify.Config
	Rate         int
	Dedupe       bool

	ReadLimit, WriteLimit, PartsLimit, KeptMegabytes int // megabytes
	KeptDays                                         int
	Compact                                          int // percent; 0: never

	upstream      string        // for every API
	ownUpstreams  llm.Upstreams // from flags and environment
	fileUpstreams llm.Upstreams // from the files
	layers        []layer       // the first layer with a key counts
	ruleLayers    []layer       // the files with rules
}

// everywhere returns upstreams with one base URL for all.
func everywhere(base string) llm.Upstreams {
	all := llm.Upstreams{llm.Vertex: base, llm.Azure: base, llm.Bedrock: base}
	for _, a := range apis.All() {
		all[a.Name] = base
	}
	return all
}

// Source says where the layers are.
type Source struct {
	Dir       string // the search for the project's file begins here
	Workspace string // the directory whose rules apply; "": rules are not read
	Home      string // the search for the project's file ends here, and "~" in rules; "": at the root
	User      string // the user's file; "": none
	Getenv    func(string) string
	Flags     *pflag.FlagSet // nil: no flags
	Servers   bool           // rules may name tools of MCP servers that are not configured, because a client will name them
	// Warn reports to the person what was ignored; nil: no message.
	Warn func(format string, args ...any)
}

// Error is an error in what a person configured.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// FlagError is an error in a flag's value. All other errors of [Load] are about
// files and variables.
type FlagError struct{ Err error }

func (e *FlagError) Error() string { return e.Err.Error() }
func (e *FlagError) Unwrap() error { return e.Err }

// Load reads all layers.
func Load(s Source) (*Config, error) {
	flags, err := readFlags(s.Flags)
	if err != nil {
		return nil, err
	}
	user, err := readFile(s.User, false)
	if err != nil {
		return nil, err
	}
	project, err := readFile(s.projectFile(s.Dir), true)
	if err != nil {
		return nil, err
	}
	env, err := readEnvironment(s.Getenv)
	if err != nil {
		return nil, err
	}
	c := &Config{layers: []layer{flags, env, project, user}, ruleLayers: []layer{project, user}}
	if s.Workspace != "" {
		if s.Workspace != s.Dir {
			if project, err = readFile(s.projectFile(s.Workspace), true); err != nil {
				return nil, err
			}
			c.ruleLayers[0] = project
		}
	}
	if err := c.fill(c.layers); err != nil {
		return nil, err
	}
	if err := c.checkKept(); err != nil {
		return nil, err
	}
	if s.Workspace != "" {
		if err := c.loadRules(s, project, user); err != nil {
			return nil, err
		}
	}
	return c, c.loadUpstreams()
}

// fill sets every field from the first layer with its key, or to its default.
func (c *Config) fill(layers []layer) error {
	for _, k := range keys {
		if k.Name == ruleKey {
			continue // rules of both files apply
		}
		value := k.Default
		if l, ok := first(layers, k.Name); ok && l.values[k.Name] != "" {
			value = l.values[k.Name]
		}
		if value == nil {
			continue
		}
		if err := k.assign(c, value); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return nil
}

// loadUpstreams separates the upstreams of flags and environment from those of the files, because the agent's own configuration
// comes between them.
func (c *Config) loadUpstreams() error {
	of := func(layers []layer) (llm.Upstreams, error) {
		var only Config
		err := only.fill(layers)
		return only.Upstream.Or(everywhere(only.upstream)), err
	}
	own, files := c.layers[:2], c.layers[2:]
	var err error
	if c.ownUpstreams, err = of(own); err != nil {
		return err
	}
	c.Upstream = c.ownUpstreams
	if _, said := first(own, "upstream"); !said { // it applies to every request, even if it is empty
		c.fileUpstreams, err = of(files)
	}
	return err
}

// Routed returns where the requests of an agent go: first by flags and environment, then by found, the agent's own configuration,
// then by the files.
func (c *Config) Routed(found llm.Upstreams) llm.Upstreams {
	return c.ownUpstreams.Or(found).Or(c.fileUpstreams)
}

// Route sets Upstream for an agent; see Routed.
func (c *Config) Route(found llm.Upstreams) { c.Upstream = c.Routed(found) }

// History returns the engine's configuration for a workspace; root is empty if it is not known.
func (c *Config) History(root string) trim.Config {
	all := func(n int) int {
		if n == 0 {
			return -1 // the engine's value for all
		}
		return n
	}
	return trim.Config{
		Policy: c.Policy, Root: cmp.Or(root, c.ProjectRoot), KeepReads: all(c.Keep), KeepShell: all(c.KeepShell),
		BySize: c.BySize, ByContent: c.ByContent, LineNumbers: c.LineNumbers, Language: c.Lang, Placeholder: c.Placeholder, Dialects: c.Dialects,
	}
}

// FilePolicy returns the policy of the file tools.
func (c *Config) FilePolicy() (policy.Policy, error) {
	p := policy.Policy{Rules: c.Rules, Project: c.ProjectRules, Unread: c.Unread, Secrets: c.Secrets}
	if c.Elicitation == elicitOrdinary {
		all, err := policy.ParsePattern("*")
		if err != nil {
			return p, err
		}
		p.Relay = []policy.Pattern{all}
	}
	return p, nil
}

// CallRate returns Rate for the handler of calls: -1 means no limit.
func (c *Config) CallRate() int {
	if c.Rate == 0 {
		return -1
	}
	return c.Rate
}
