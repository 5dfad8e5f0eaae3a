package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/trim/dialect"
)

// decodeTables decodes the table or tables of a key into a struct with that key. name is an unknown member's name; empty for
// another error.
func decodeTables(key string, value any, into any) (name string, err error) {
	b, err := toml.Marshal(map[string]any{key: value})
	if err != nil {
		return "", err
	}
	err = toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields().Decode(into)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		return strings.Join(strict.Errors[0].Key(), "."), err
	}
	return "", err
}

// parseDialects adds [[dialect]] tables to the built-in table.
func parseDialects(rows any) (*dialect.Table, error) {
	var file struct {
		Dialect []dialect.Row `toml:"dialect"`
	}
	switch unknown, err := decodeTables("dialect", rows, &file); {
	case unknown != "":
		return nil, &unknownMember{unknown, "a row has tools, op, path and what else docs/context.md names"}
	case err != nil:
		return nil, fmt.Errorf("a dialect row: %w", err)
	}
	return dialect.Default().With(file.Dialect)
}

// parseNotify reads the table [notify].
func parseNotify(v any) (notify.Config, error) {
	var file struct{ Notify notify.Config }
	switch unknown, err := decodeTables(notifyKey, v, &file); {
	case unknown != "":
		return notify.Config{}, &unknownMember{unknown, "it may have ntfy, webhook, command and content"}
	case err != nil:
		return notify.Config{}, errors.New("ntfy and webhook are strings, command is an array of strings, content is true or false")
	}
	return file.Notify, file.Notify.Check()
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
	var file struct {
		MCP []MCPServer `toml:"mcp"`
	}
	switch unknown, err := decodeTables(mcpKey, rows, &file); {
	case unknown != "":
		return nil, &unknownMember{unknown, "a server has name, and command with env, or url with headers"}
	case err != nil:
		return nil, errors.New("name and url are strings, command is an array of strings, env and headers are tables of strings")
	}
	names := map[string]bool{}
	for _, s := range file.MCP {
		if err := s.check(); err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, fmt.Errorf("two servers have the name %q", s.Name)
		}
		names[s.Name] = true
	}
	return file.MCP, nil
}
