package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/knadh/koanf/v2"
	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/proxy"
)

// options is the configuration after all layers.
type options struct {
	Policy       history.Policy
	Keep         int // newest reads of a file that keep-latest leaves whole; 0 is all
	KeepShell    int // newest outputs of commands that keep-latest leaves whole; 0 is all
	BySize       bool
	ByContent    bool
	Lang         string
	Placeholder  string
	ProjectRoot  string // where agents work; "" is what they say themselves
	Observe      bool
	Record       bool
	RecordDays   int  // for how long; 0 is for ever
	ProjectNotes bool // the agent is told what the project's notes say
	Listen       string
	Log          string
	Upstream     proxy.Upstreams // of flags and environment; all of them once settled
	Configured   proxy.Upstreams // of files
	Dialects     *dialect.Table  // nil: the default
	Prices       string          // a file of models beside those that stet knows
}

// Where requests go when nothing is said, for the person to read; the proxy
// knows by itself.
const (
	ownMessages = "https://api.anthropic.com"
	ownOpenAI   = "https://api.openai.com/v1"
)

const (
	defaultListen = "127.0.0.1:4141"
	defaultKeep   = 5

	defaultKeepShell = 5

	defaultRecordDays = 180
)

// addPlanFlags adds the flags that say what is left out.
func addPlanFlags(f *pflag.FlagSet) {
	f.String("policy", string(history.Adaptive), "what may be left out: off, keep-latest, lossless, adaptive, bold")
	f.Int("keep", defaultKeep, "newest reads of a file that keep-latest leaves whole")
}

// addProxyFlags adds the flags that wrap and proxy share.
func addProxyFlags(f *pflag.FlagSet) {
	addPlanFlags(f)
	f.String("lang", "en", "language of the line that stands for what was left out: en, zh")
	f.String("placeholder", "", "that line under keep-latest, in your own words; {path} and {lines} are filled in")
	f.String("project-root", "", "the directory that agents work in (default what they say themselves)")
	f.Bool("observe", false, "send every request untouched and only report what would be left out")
	f.String("log", "", "write the log to this file")
	f.Bool("no-record", false, "keep no record of usage and savings in the state directory")
	f.Int("record-days", defaultRecordDays, "keep that record for so many days; 0 for ever")
	f.String("upstream", "", "base URL that every request goes to, in place of the providers' own")
	f.String("upstream-messages", "", "base URL for /v1/messages (default "+ownMessages+")")
	f.String("upstream-chat", "", "base URL for /v1/chat/completions (default "+ownOpenAI+")")
	f.String("upstream-responses", "", "base URL for /v1/responses (default "+ownOpenAI+")")
}

// completePlanFlags tells the shell what the flags with a fixed set of values
// may be.
func completePlanFlags(cmd *cobra.Command) {
	var names []string
	for _, p := range history.Policies() {
		names = append(names, string(p))
	}
	for flag, values := range map[string][]string{"policy": names, "lang": {"en", "zh"}} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// options reads the configuration, the flags given to cmd above all.
func (p *program) options(cmd *cobra.Command) (*options, error) {
	flags := values{}
	var bad error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "no-record" {
			flags["record"] = f.Value.String() != "true"
		}
		s, ok := settingOf(f.Name)
		if !ok {
			return
		}
		v, err := s.kind.parse(f.Value.String())
		if err == nil {
			err = s.accepts(v)
		}
		if err != nil && bad == nil {
			bad = fmt.Errorf("--%s: %w", f.Name, err)
		}
		flags[f.Name] = v
	})
	if bad != nil {
		return nil, usage(cmd, bad)
	}
	files, own, err := p.loadConfig(flags)
	if err != nil {
		return nil, err
	}
	k := files.Copy()
	if err := k.Merge(own); err != nil {
		return nil, misconfigured(err)
	}
	o := optionsOf(k)
	o.Upstream = upstreamsOf(own)
	if !own.Exists("upstream") { // which is said to be for every request, even if it is empty
		o.Configured = upstreamsOf(files)
	}
	if rows, ok := k.Get("dialect").([]any); ok {
		if o.Dialects, err = dialects(rows); err != nil {
			return nil, misconfigured(err)
		}
	}
	return o, nil
}

func optionsOf(k *koanf.Koanf) *options {
	o := &options{
		Policy:       history.Adaptive,
		Keep:         defaultKeep,
		KeepShell:    defaultKeepShell,
		BySize:       k.Bool("by-size"),
		ByContent:    k.Bool("by-content"),
		Lang:         k.String("lang"),
		Placeholder:  k.String("placeholder"),
		ProjectRoot:  k.String("project-root"),
		Observe:      k.Bool("observe"),
		Record:       true,
		ProjectNotes: !k.Exists("project-notes") || k.Bool("project-notes"),
		RecordDays:   defaultRecordDays,
		Listen:       defaultListen,
		Log:          k.String("log"),
		Prices:       k.String("prices"),
	}
	if s := k.String("policy"); s != "" {
		o.Policy = history.Policy(s)
	}
	if k.Exists("keep") {
		o.Keep = k.Int("keep")
	}
	if k.Exists("keep-shell") {
		o.KeepShell = k.Int("keep-shell")
	}
	if k.Exists("record") {
		o.Record = k.Bool("record")
	}
	if k.Exists("record-days") {
		o.RecordDays = k.Int("record-days")
	}
	if s := k.String("listen"); s != "" {
		o.Listen = s
	}
	return o
}

func upstreamsOf(k *koanf.Koanf) proxy.Upstreams {
	all := k.String("upstream")
	return proxy.Upstreams{
		Messages:  cmp.Or(k.String("upstream-messages"), all),
		Chat:      cmp.Or(k.String("upstream-chat"), all),
		Responses: cmp.Or(k.String("upstream-responses"), all),
	}
}

// settle makes Upstream what counts: what flags and STET_* say, then found,
// which is what the agent would have used, then what the files say.
func (o *options) settle(found proxy.Upstreams) {
	u, c := &o.Upstream, o.Configured
	u.Messages = cmp.Or(u.Messages, found.Messages, c.Messages)
	u.Chat = cmp.Or(u.Chat, found.Chat, c.Chat)
	u.Responses = cmp.Or(u.Responses, found.Responses, c.Responses)
}

// history returns the engine's configuration for a workspace; root is empty where it
// is not known.
func (o *options) history(root string) history.Config {
	all := func(n int) int {
		if n == 0 {
			return -1 // the engine's word for all
		}
		return n
	}
	return history.Config{
		Policy: o.Policy, Root: cmp.Or(root, o.ProjectRoot), KeepReads: all(o.Keep), KeepShell: all(o.KeepShell), BySize: o.BySize, ByContent: o.ByContent,
		Language: o.Lang, Placeholder: o.Placeholder, Dialects: o.Dialects,
	}
}

// dialects adds the rows of the configuration to the table that stet knows.
func dialects(rows []any) (*dialect.Table, error) {
	b, err := toml.Marshal(map[string]any{"dialect": rows})
	if err != nil {
		return nil, err
	}
	var file struct {
		Dialect []dialect.Row `toml:"dialect"`
	}
	dec := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			return nil, fmt.Errorf("unknown key %q in a dialect row", strings.Join(strict.Errors[0].Key(), "."))
		}
		return nil, fmt.Errorf("a dialect row: %w", err)
	}
	return dialect.Default().With(file.Dialect)
}

func checkDialects(v any) error {
	_, err := dialects(v.([]any))
	return err
}
