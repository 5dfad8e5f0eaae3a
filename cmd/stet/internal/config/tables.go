package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/trim/dialect"
)

// decode reads the table or tables of a key. Its errors end with the caller's words: members lists the members that a table may have, types their
// types. If types is "", the decoder's own words stay.
func decode[T any](key string, value any, members, types string) (of T, err error) {
	b, err := toml.Marshal(map[string]any{key: value})
	if err != nil {
		return of, err
	}
	var file map[string]T
	err = toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields().Decode(&file)
	var strict *toml.StrictMissingError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		err = fmt.Errorf("unknown key %q: %s", strings.Join(strict.Errors[0].Key(), "."), members)
	case err != nil && types != "":
		err = errors.New(types)
	}
	return file[key], err
}

// parseDialects adds [[dialect]] tables to the built-in table.
func parseDialects(rows any) (*dialect.Table, error) {
	all, err := decode[[]dialect.Row]("dialect", rows, "a row has tools, op, path and what else docs/context.md names", "")
	if err != nil {
		return nil, err
	}
	return dialect.Default().With(all)
}

// parseNotify reads the table [notify].
func parseNotify(v any) (notify.Config, error) {
	c, err := decode[notify.Config](notifyKey, v, "it may have ntfy, webhook, command, link, content and actions",
		"ntfy, webhook and link are strings, command is an array of strings, content and actions are true or false")
	if err == nil {
		err = c.Check()
	}
	return c, err
}

// Limits says what may be spent: the table [limits].
type Limits struct {
	Conversation Amount `toml:"conversation"`
	Tree         Amount `toml:"tree"`
	Day          Amount `toml:"day"`
	Hard         bool   `toml:"hard"`
}

// Amount is a limit in US dollars or in tokens; the zero value is none.
type Amount struct {
	USD    float64
	Tokens int
}

// UnmarshalText reads "$5" or "2000000 tokens".
func (a *Amount) UnmarshalText(b []byte) (err error) {
	text := strings.TrimSpace(string(b))
	if dollars, ok := strings.CutPrefix(text, "$"); ok {
		a.USD, err = strconv.ParseFloat(strings.TrimSpace(dollars), 64)
		if err == nil && (!(a.USD > 0) || math.IsInf(a.USD, 0)) {
			err = errors.New("not above 0")
		}
	} else if tokens, ok := strings.CutSuffix(text, "tokens"); ok {
		a.Tokens, err = strconv.Atoi(strings.TrimSpace(tokens))
		if err == nil && a.Tokens <= 0 {
			err = errors.New("not above 0")
		}
	} else {
		err = errors.New("no unit")
	}
	if err != nil {
		return fmt.Errorf("limit %q: want dollars, as in \"$5\", or tokens, as in \"2000000 tokens\"", text)
	}
	return nil
}

// parseLimits reads the table [limits].
func parseLimits(v any) (Limits, error) {
	return decode[Limits](limitsKey, v, "it may have conversation, tree, day and hard", `conversation, tree and day are strings, as "$5" or "2000000 tokens"; hard is true or false`)
}

// MCPServer is a server whose tools stet's own agent has, in chat and run.
type MCPServer struct {
	Name    string            `toml:"name"`
	Command []string          `toml:"command"` // the program and its arguments
	Env     map[string]string `toml:"env"`     // added to stet's environment
	URL     string            `toml:"url"`     // instead of Command
	Headers map[string]string `toml:"headers"`
}

func (s MCPServer) check() error {
	u, err := url.Parse(s.URL)
	switch {
	case s.Name == "":
		return errors.New("a server has no name")
	case (len(s.Command) == 0 || s.Command[0] == "") == (s.URL == ""):
		return fmt.Errorf("%q: want either command, a program and its arguments, or url", s.Name)
	case s.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("%q: url: want http:// or https:// and a host", s.Name)
	case s.URL != "" && s.Env != nil || s.URL == "" && s.Headers != nil:
		return fmt.Errorf("%q: env goes with command, and headers with url", s.Name)
	}
	return nil
}

// parseMCP reads [[mcp]] tables.
func parseMCP(rows any) ([]MCPServer, error) {
	all, err := decode[[]MCPServer](mcpKey, rows, "a server has name, and command with env, or url with headers",
		"name and url are strings, command is an array of strings, env and headers are tables of strings")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, s := range all {
		if err := s.check(); err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, fmt.Errorf("two servers have the name %q", s.Name)
		}
		names[s.Name] = true
	}
	return all, nil
}
