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

// fileLayer is what a configuration file says.
type fileLayer struct {
	name   string
	values values
}

// fileLayers are the files that count in the working directory, the project's
// before the user's.
func (p *program) fileLayers() ([]fileLayer, error) {
	project, user := p.projectConfig(), p.userConfig()
	of, err := readConfig(project, true)
	if err != nil {
		return nil, err
	}
	own, err := readConfig(user, false)
	return []fileLayer{{project, of}, {user, own}}, err
}

// inForce is what the command goes by, key by key, and where that was said: a
// flag, a variable, a file, or nowhere. Of URLs it tells no more than the host,
// since what follows may be a key.
func (p *program) inForce(cmd *cobra.Command, root string) ([]web.Setting, error) {
	env, err := p.envConfig()
	if err != nil {
		return nil, misconfigured(err)
	}
	here, err := p.fileLayers()
	if err != nil {
		return nil, misconfigured(err)
	}
	there := here
	if root != p.dir {
		of := *p
		of.dir = root
		if there, err = of.fileLayers(); err != nil {
			return nil, misconfigured(err)
		}
	}
	var all []web.Setting
	for _, s := range settings {
		files := here
		if slices.Contains(ofWorkspace, s.key) {
			files = there
		}
		value, from := settled(cmd, s, env, files)
		if s.key == "base-url" || strings.HasPrefix(s.key, "upstream") {
			value = hostOf(value)
		}
		if value != "" && !slices.Contains(notServed, s.key) { // said, or something by itself
			all = append(all, web.Setting{Name: s.key, Value: value, Note: from})
		}
	}
	return all, nil
}

// settled is the value of a setting, and where it is from.
func settled(cmd *cobra.Command, s setting, env values, files []fileLayer) (value, from string) {
	flag, off := cmd.Flags().Lookup(s.key), cmd.Flags().Lookup("no-"+s.key)
	switch {
	case flag != nil && flag.Changed:
		return flag.Value.String(), "--" + s.key
	case off != nil && off.Changed:
		return fmt.Sprint(off.Value.String() != "true"), "--no-" + s.key
	case env[s.key] != nil:
		return fmt.Sprint(env[s.key]), "STET_" + envName(s.key)
	}
	rows, names := 0, []string(nil)
	for _, f := range files {
		v := f.values[s.key]
		more, isTable := v.([]any)
		switch {
		case v == nil:
		case !isTable:
			return fmt.Sprint(v), f.name
		case s.key == "rule": // those of both files count
			rows, names = rows+len(more), append(names, f.name)
		default:
			return fmt.Sprint(len(more)), f.name
		}
	}
	switch {
	case rows > 0:
		return fmt.Sprint(rows), strings.Join(names, ", ")
	case flag != nil && unsaid[s.key] == "":
		return flag.DefValue, "default"
	}
	return unsaid[s.key], "default"
}

// hostOf is a URL without what follows its host.
func hostOf(value string) string {
	u, err := url.Parse(value)
	if value == "" || err != nil {
		return ""
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
