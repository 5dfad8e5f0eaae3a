package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/web"
)

// notServed are the settings that stet serve does not go by.
var notServed = []string{"dedupe"}

// ofWorkspace are the settings that the workspace's own files say, wherever stet
// was started.
var ofWorkspace = []string{"rule", "elicitation", "unread", "suspicion", "rate"}

// unsaid is what holds where nothing is said, and no flag has it as its default.
var unsaid = map[string]string{
	"keep-shell": fmt.Sprint(defaultKeepShell), "by-size": "false", "by-content": "false", "record": "true",
	"upstream-messages": ownMessages, "upstream-chat": ownOpenAI, "upstream-responses": ownOpenAI,
	"elicitation": elicitNone, "unread": "ask", "suspicion": "flag", "rule": "none", "dialect": "those that stet knows",
	"prices": "those that stet knows", "api": "by the model's name",
}

// inForce is what the command goes by, key by key, and where that was said: a
// flag, a variable, a file, or nowhere. Of URLs it tells no more than the host,
// since what follows may be a key.
func (p *program) inForce(cmd *cobra.Command, root string) ([]web.Setting, error) {
	there := *p
	there.dir = root
	env, err := p.envConfig()
	if err != nil {
		return nil, err
	}
	var all []web.Setting
	for _, s := range settings {
		if slices.Contains(notServed, s.key) {
			continue
		}
		from := p
		if slices.Contains(ofWorkspace, s.key) {
			from = &there
		}
		value, note, err := from.said(cmd, s, env)
		if err != nil {
			return nil, err
		}
		if s.key == "base-url" || strings.HasPrefix(s.key, "upstream") {
			value = hostOf(value)
		}
		if value == "" {
			continue // neither said nor anything by itself
		}
		all = append(all, web.Setting{Name: s.key, Value: value, Note: note})
	}
	return all, nil
}

// said is the value of a setting, and where it is from.
func (p *program) said(cmd *cobra.Command, s setting, env values) (value, from string, err error) {
	flag := cmd.Flags().Lookup(s.key)
	off := cmd.Flags().Lookup("no-" + s.key)
	switch {
	case flag != nil && flag.Changed:
		return flag.Value.String(), "--" + s.key, nil
	case off != nil && off.Changed:
		return fmt.Sprint(off.Value.String() != "true"), "--no-" + s.key, nil
	case env[s.key] != nil:
		return fmt.Sprint(env[s.key]), "STET_" + envName(s.key), nil
	}
	var rows int
	var files []string
	for _, f := range []struct {
		name    string
		project bool
	}{{p.projectConfig(), true}, {p.userConfig(), false}} {
		v, err := readConfig(f.name, f.project)
		switch {
		case err != nil:
			return "", "", err
		case v[s.key] == nil:
		case s.kind != tables:
			return fmt.Sprint(v[s.key]), f.name, nil
		default:
			more, _ := v[s.key].([]any)
			rows, files = rows+len(more), append(files, f.name)
		}
	}
	switch {
	case rows > 0:
		return fmt.Sprint(rows), strings.Join(files, ", "), nil
	case flag != nil && flag.DefValue != "" && unsaid[s.key] == "":
		return flag.DefValue, "default", nil
	}
	return unsaid[s.key], "default", nil
}

// hostOf is a URL without what follows its host.
func hostOf(value string) string {
	u, err := url.Parse(value)
	if value == "" || err != nil {
		return value
	}
	if u.Path != "" && u.Path != "/" && u.Path != "/v1" {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// settings are what the UI shows: the place, and what is in force.
func (s *site) settings() []web.Setting {
	all := []web.Setting{{Name: "address", Value: s.server.base}}
	if s.hands != nil {
		all = append(all, web.Setting{Name: "workspace", Value: s.name, Note: s.hands.root.Dir()})
	}
	return append(append(all, web.Setting{Name: "state", Value: filepath.Clean(s.state)}), s.inForce...)
}
