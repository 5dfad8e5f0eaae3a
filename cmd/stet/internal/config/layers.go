package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/internal/invisible"
)

// layer has the settings of one source: the flags, the environment, or a file.
type layer struct {
	name   string         // a file's path; empty for flags and environment
	values map[string]any // a string, int, bool, []any or map, by key
	from   map[string]string
}

// first returns the first layer that has a key.
func first(layers []layer, key string) (layer, bool) {
	i := slices.IndexFunc(layers, func(l layer) bool { return l.values[key] != nil })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

// readFlags reads the settings from the given flags.
func readFlags(flags *pflag.FlagSet) (layer, error) {
	l := layer{values: map[string]any{}, from: map[string]string{}}
	if flags == nil {
		return l, nil
	}
	var failed error
	flags.Visit(func(f *pflag.Flag) {
		name, negated := strings.CutPrefix(f.Name, "no-")
		k, ok := keyOf(name)
		if !ok || negated != k.negated() {
			return
		}
		v, err := k.Type.parse(f.Value.String())
		if negated {
			v = v != true
		}
		if err == nil {
			err = k.check(v)
		}
		if err != nil && failed == nil {
			failed = &FlagError{fmt.Errorf("--%s: %w", f.Name, err)}
		}
		l.values[name], l.from[name] = v, "--"+f.Name
	})
	return l, failed
}

// readEnvironment reads the settings from STET_* variables. Other variables with that prefix are ignored. An empty variable sets
// nothing.
func readEnvironment(getenv func(string) string) (layer, error) {
	l := layer{values: map[string]any{}, from: map[string]string{}}
	if getenv == nil {
		return l, nil
	}
	for _, k := range keys {
		text := getenv(variable(k.Name))
		if k.Type == tables || k.Type == table || text == "" {
			continue
		}
		v, err := k.Type.parse(text)
		if err != nil {
			return l, fmt.Errorf("%s: want %s, have %q", variable(k.Name), k.Type, text)
		}
		if err := k.check(v); err != nil {
			return l, fmt.Errorf("%s: %w", variable(k.Name), err)
		}
		l.values[k.Name], l.from[k.Name] = v, variable(k.Name)
	}
	return l, nil
}

// Misspelt returns a sentence for each variable that is almost one of a setting, or should name a proxy and does not; env has NAME=VALUE.
func Misspelt(env []string) (all []string) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if strings.EqualFold(name, "HTTPS_PROXY") || strings.EqualFold(name, "HTTP_PROXY") {
			if !strings.Contains(value, "://") {
				value = "http://" + value
			}
			if u, err := url.Parse(value); value != "http://" && (err != nil || u.Hostname() == "") {
				all = append(all, name+" is not the address of a proxy: want http://HOST:PORT") // it may have a password, so it is not quoted
			}
		}
		key, ours := strings.CutPrefix(name, "STET_")
		key = strings.ToLower(strings.ReplaceAll(key, "_", "-"))
		if _, known := keyOf(key); !ours || known || name == "STET_TOKEN" {
			continue
		}
		if near := nearKeys(key, false); near != "" {
			all = append(all, fmt.Sprintf("the variable %s is not known, and sets nothing: did you mean %s?", name, variable(strings.Split(near, " or ")[0])))
		}
	}
	return all
}

// variable returns the name of a key's environment variable.
func variable(key string) string {
	return "STET_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// readFile reads a configuration file. A missing file sets nothing.
func readFile(file string, project bool) (layer, error) {
	l := layer{name: file}
	if file == "" {
		return l, nil
	}
	read := os.ReadFile
	if project {
		read = readProject
	}
	b, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return l, fmt.Errorf("%s: it is not in UTF-8: save it in that encoding", file)
	}
	b = invisible.SkipMark(b)
	if err := toml.Unmarshal(b, &l.values); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return l, fmt.Errorf("%s, line %d, column %d: %w; mend that line", file, line, column, err)
		}
		return l, fmt.Errorf("%s: %w", file, err)
	}
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		v := l.values[name]
		if err := checkInFile(name, v, project); err != nil {
			return l, fmt.Errorf("%s: %w", file, err)
		}
		if n, ok := v.(int64); ok {
			l.values[name] = int(n)
		}
	}
	return l, nil
}

// checkInFile validates a key and its value in a file.
func checkInFile(name string, v any, project bool) error {
	k, ok := keyOf(name)
	switch {
	case !ok:
		if near := nearKeys(name, project); near != "" {
			return fmt.Errorf("unknown key %q: did you mean %s?", name, near)
		}
		return fmt.Errorf("unknown key %q: the keys are %s", name, keyNames(project))
	case project && k.UserOnly:
		return fmt.Errorf("a project may not set %q: set it in your own configuration, by flag or by %s", name, variable(name))
	}
	if n, ok := v.(int64); ok {
		v = int(n)
	}
	if !k.Type.holds(v) && k.Type == table { // the value may be a secret
		return fmt.Errorf("%s: want %s, [%s]", name, k.Type, name)
	}
	if !k.Type.holds(v) {
		if s, ok := v.(string); ok {
			v = strconv.Quote(s)
		}
		return fmt.Errorf("%s: want %s, have %v", name, k.Type, v)
	}
	if project && name == ruleKey {
		if err := checkPatterns(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := k.check(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// holds reports whether a value is of the type.
func (t Type) holds(v any) bool {
	switch v.(type) {
	case string:
		return t == text
	case int:
		return t == Number
	case bool:
		return t == Bool
	case []any:
		return t == tables
	case map[string]any:
		return t == table
	}
	return false
}

// parse reads a value of the type from text.
func (t Type) parse(s string) (any, error) {
	switch t {
	case Number:
		return strconv.Atoi(s)
	case Bool:
		return strconv.ParseBool(s)
	default:
		return s, nil
	}
}

// Setting is a key, its value as text, and its source: a flag, a variable, a file, or "default".
type Setting struct{ Key, Value, From string }

// FromDefault is the source of a value that is set nowhere.
const FromDefault = "default"

// Settings returns all keys that have a value. Of URLs that were set it has no
// more than the host, since what follows may be a secret.
func (c *Config) Settings() []Setting {
	var all []Setting
	for _, k := range keys {
		s := c.setting(k)
		if s.From != FromDefault && (k.Name == "base-url" || k.Name == "store" || strings.HasPrefix(k.Name, "upstream")) {
			s.Value = hostOf(s.Value)
		}
		if s.Value != "" {
			all = append(all, s)
		}
	}
	return all
}

func (c *Config) setting(k key) Setting {
	if k.Name == ruleKey { // the rules of both files apply
		rows, files := 0, []string(nil)
		for _, l := range c.ruleLayers {
			if more, ok := l.values[ruleKey].([]any); ok {
				rows, files = rows+len(more), append(files, l.name)
			}
		}
		if rows > 0 {
			return Setting{k.Name, fmt.Sprint(rows), strings.Join(files, " and ")}
		}
	} else if l, ok := first(c.layers, k.Name); ok {
		from := l.name
		if l.from != nil {
			from = l.from[k.Name]
		}
		switch v := l.values[k.Name].(type) {
		case []any:
			return Setting{k.Name, fmt.Sprint(len(v)), from}
		case map[string]any: // its values may be secrets
			return Setting{k.Name, strings.Join(slices.Sorted(maps.Keys(v)), ", "), from}
		}
		return Setting{k.Name, fmt.Sprint(l.values[k.Name]), from}
	}
	if k.Default == nil || k.Default == "" {
		return Setting{k.Name, strings.ReplaceAll(k.DefaultText, "`", ""), FromDefault}
	}
	return Setting{k.Name, fmt.Sprint(k.Default), FromDefault}
}

// hostOf returns a URL up to its host.
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

// nearKeys returns the keys of a file with names similar to name, or none.
func nearKeys(name string, project bool) string {
	var names []string
	for _, k := range keys {
		if !project || !k.UserOnly {
			names = append(names, k.Name)
		}
	}
	return strings.Join(Near(name, names), " or ")
}

// Near returns those of names that are similar to name, compared as cobra compares names of commands.
func Near(name string, names []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		all.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(name)
}
