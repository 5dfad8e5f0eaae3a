package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/v2"
)

// setting is one key of the configuration. It goes by the same name
// everywhere: key "lang", flag --lang, variable STET_LANG; a dot becomes a dash
// or an underscore.
type setting struct {
	key   string
	kind  kind
	check func(any) error // nil: every value of the kind will do
	// user says that a project's file may not set it: what comes with a
	// checkout must not decide where keys and conversations are sent, who
	// may connect, or which files are written.
	user bool
}

type kind string

const (
	text   kind = "a string"
	number kind = "a whole number"
	truth  kind = "true or false"
	tables kind = "an array of tables"
)

var settings = []setting{
	{"policy", text, checkPolicy, false},
	{"keep", number, checkKeep, false},
	{"keep-shell", number, checkKeepShell, false},
	{"by-size", truth, nil, false},
	{"by-content", truth, nil, false},
	{"lang", text, checkLanguage, false},
	{"placeholder", text, checkPlaceholder, false},
	{"project-root", text, checkProjectRoot, true},
	{"observe", truth, nil, false},
	{"record", truth, nil, true},
	{"record-days", number, checkRecordDays, true},
	{"audit-days", number, checkAuditDays, true},
	{"listen", text, nil, true},
	{"log", text, nil, true},
	{"upstream", text, checkUpstream, true},
	{"upstream-messages", text, checkUpstream, true},
	{"upstream-chat", text, checkUpstream, true},
	{"upstream-responses", text, checkUpstream, true},
	{"dialect", tables, checkDialects, false}, // in files only
	{"rule", tables, checkRules, false},       // in files only; a project's restrict
	{"elicitation", text, checkElicitation, true},
	{"unread", text, checkUnread, true},
	{"suspicion", text, checkSuspicion, true},
	{"rate", number, checkRate, true},
	{"dedupe", truth, nil, true},
	{"prices", text, nil, true},
	{"model", text, nil, true},
	{"base-url", text, checkUpstream, true},
	{"api", text, checkAPI, true},
	{"project-notes", truth, nil, false},
}

// removed are keys that earlier versions had.
var removed = []string{"cache-ttl", "margin", "pressure"}

const projectFile = ".stet.toml"

// values is a layer of the configuration, as koanf loads it.
type values map[string]any

func (v values) Read() (map[string]any, error) { return v, nil }
func (v values) ReadBytes() ([]byte, error)    { return nil, errors.ErrUnsupported }

// loadConfig merges the layers: of the files the project's goes before the
// user's, and before these what this run was given, flags before environment.
func (p *program) loadConfig(flags values) (files, own *koanf.Koanf, err error) {
	files, own = koanf.New("."), koanf.New(".")
	layers := []struct {
		into *koanf.Koanf
		read func() (values, error)
	}{
		{files, func() (values, error) { return readConfig(p.userConfig(), false) }},
		{files, func() (values, error) { return readConfig(p.projectConfig(), true) }},
		{own, p.envConfig},
		{own, func() (values, error) { return flags, nil }},
	}
	for _, layer := range layers {
		v, err := layer.read()
		if err == nil {
			err = layer.into.Load(v, nil)
		}
		if err != nil {
			return nil, nil, misconfigured(err)
		}
	}
	return files, own, nil
}

// readConfig reads one file. A file that is not there sets nothing.
func readConfig(file string, project bool) (values, error) {
	if file == "" {
		return nil, nil
	}
	read := os.ReadFile
	if project {
		read = readProject
	}
	b, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := toml.Parser().Unmarshal(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for key, value := range v {
		s, ok := settingOf(key)
		if !ok && slices.Contains(removed, key) {
			return nil, fmt.Errorf("%s: the key %q was removed: delete it", file, key)
		}
		if !ok {
			return nil, fmt.Errorf("%s: unknown key %q: the keys are %s", file, key, settingKeys(project))
		}
		if project && s.user {
			return nil, fmt.Errorf("%s: a project may not set %q: set it in your own configuration, by flag or by STET_%s", file, key, envName(key))
		}
		if !s.kind.holds(value) {
			return nil, fmt.Errorf("%s: %s: want %s, have %v", file, key, s.kind, value)
		}
		if err := s.accepts(value); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, key, err)
		}
	}
	return v, nil
}

func settingOf(key string) (setting, bool) {
	i := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
	if i < 0 {
		return setting{}, false
	}
	return settings[i], true
}

func settingKeys(project bool) string {
	var keys []string
	for _, s := range settings {
		if !project || !s.user {
			keys = append(keys, s.key)
		}
	}
	return strings.Join(keys, ", ")
}

func (s setting) accepts(v any) error {
	if s.check == nil {
		return nil
	}
	return s.check(v)
}

func (k kind) holds(v any) bool {
	switch v.(type) {
	case string:
		return k == text
	case int64, int:
		return k == number
	case bool:
		return k == truth
	case []any:
		return k == tables
	}
	return false
}

// parse reads a value of kind k from text.
func (k kind) parse(s string) (any, error) {
	switch k {
	case number:
		return strconv.Atoi(s)
	case truth:
		return strconv.ParseBool(s)
	default:
		return s, nil
	}
}

func envName(key string) string {
	return strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// envConfig takes the settings out of STET_* variables. Other variables of
// that prefix are not settings and are left alone; an empty one sets nothing.
func (p *program) envConfig() (values, error) {
	v := values{}
	for _, key := range removed {
		if name := "STET_" + envName(key); p.getenv(name) != "" {
			return nil, fmt.Errorf("the setting %s was removed: unset it", name)
		}
	}
	for _, s := range settings {
		if s.kind == tables {
			continue
		}
		name := "STET_" + envName(s.key)
		set := p.getenv(name)
		if set == "" {
			continue
		}
		parsed, err := s.kind.parse(set)
		if err != nil {
			return nil, fmt.Errorf("%s: want %s, have %q", name, s.kind, set)
		}
		if err := s.accepts(parsed); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v[s.key] = parsed
	}
	return v, nil
}
