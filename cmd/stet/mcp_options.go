package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/policy"
)

const defaultRate = 100

// Values of the key elicitation. An answer through the client comes from the
// client, and only maybe from a person: without a word from the user it is none.
const (
	elicitNone     = "none"
	elicitOrdinary = "ordinary"
)

// handOptions is the part of the configuration that the file tools go by.
type handOptions struct {
	policy    policy.Policy
	suspicion policy.Suspicion
	rate      int // calls a minute; negative is any number
	dedupe    bool
	log       string
	auditDays int // how long entries of the trail are kept; 0 is for ever

	// elsewhere: who opens the hands says whom they ask; no socket is made for
	// answers.
	elsewhere bool
}

// handOptions reads the configuration for the workspace root. The project's
// file is that of the workspace, wherever stet was started; its rules restrict
// and do no more, for what comes with a checkout is not trusted.
func (p *program) handOptions(cmd *cobra.Command, root string) (*handOptions, error) {
	here := *p
	here.dir = root
	flags := values{}
	var err error
	f := cmd.Flags()
	if f.Changed("dedupe") {
		flags["dedupe"], err = f.GetBool("dedupe")
	}
	if f.Changed("rate") && err == nil {
		var n int
		if n, err = f.GetInt("rate"); err == nil {
			if bad := checkRate(n); bad != nil {
				return nil, usage(cmd, fmt.Errorf("--rate: %w", bad))
			}
			flags["rate"] = n
		}
	}
	if f.Changed("log") && err == nil {
		flags["log"], err = f.GetString("log")
	}
	if err != nil {
		return nil, err
	}
	files, k, err := here.loadConfig(flags)
	if err != nil {
		return nil, err
	}
	if err := files.Merge(k); err != nil {
		return nil, misconfigured(err)
	}
	o := &handOptions{rate: defaultRate, dedupe: files.Bool("dedupe"), log: files.String("log"), auditDays: auditDays(files)}
	if files.Exists("rate") {
		o.rate = files.Int("rate")
	}
	if o.rate == 0 {
		o.rate = -1 // the handler's word for any number
	}
	if files.String("elicitation") == elicitOrdinary {
		all, err := policy.ParsePattern("*")
		if err != nil {
			return nil, err
		}
		o.policy.Relay = []policy.Pattern{all}
	}
	if s := files.String("unread"); s != "" {
		err = o.policy.Unread.UnmarshalText([]byte(s))
	}
	if s := files.String("suspicion"); s != "" && err == nil {
		err = o.suspicion.Do.UnmarshalText([]byte(s))
	}
	if err != nil {
		return nil, misconfigured(err)
	}
	return o, here.readRules(&o.policy)
}

// readRules reads the rules of both files. They are no layers of one list.
func (p *program) readRules(into *policy.Policy) error {
	for _, file := range []struct {
		name    string
		project bool
		rules   *[]policy.Rule
	}{{p.userConfig(), false, &into.Rules}, {p.projectConfig(), true, &into.Project}} {
		v, err := readConfig(file.name, file.project)
		if err != nil {
			return misconfigured(err)
		}
		rows, _ := v["rule"].([]any)
		if *file.rules, err = rules(rows); err != nil {
			return misconfigured(fmt.Errorf("%s: rule: %w", file.name, err))
		}
		for i, r := range *file.rules {
			if file.project && r.Do == policy.Allow {
				return misconfigured(fmt.Errorf("%s: rule %d: a project may deny or ask, and allow nothing: "+
					"allow it in your own configuration", file.name, i+1))
			}
		}
	}
	return nil
}

// rules reads the [[rule]] tables of a file.
func rules(rows []any) ([]policy.Rule, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	b, err := toml.Marshal(map[string]any{"rule": rows})
	if err != nil {
		return nil, err
	}
	var file struct {
		Rule []policy.Rule `toml:"rule"`
	}
	dec := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			return nil, fmt.Errorf("unknown key %q: a rule has tools, paths, on and do", strings.Join(strict.Errors[0].Key(), "."))
		}
		return nil, err
	}
	for i, row := range rows {
		if m, _ := row.(map[string]any); m["do"] == nil {
			return nil, fmt.Errorf("rule %d does not say what to do: do = \"allow\", \"ask\" or \"deny\"", i+1)
		}
	}
	return file.Rule, nil
}

func checkRules(v any) error {
	_, err := rules(v.([]any))
	return err
}

func checkElicitation(v any) error {
	if s := v.(string); s != elicitNone && s != elicitOrdinary {
		return fmt.Errorf("unknown value %q: choose %s or %s", s, elicitNone, elicitOrdinary)
	}
	return nil
}

func checkUnread(v any) error {
	return new(policy.Action).UnmarshalText([]byte(v.(string)))
}

func checkSuspicion(v any) error {
	return new(policy.Response).UnmarshalText([]byte(v.(string)))
}

func checkRate(v any) error {
	if n := fmt.Sprint(v); strings.HasPrefix(n, "-") {
		return fmt.Errorf("rate is calls a minute, 0 (any number) or more, not %s", n)
	}
	return nil
}
