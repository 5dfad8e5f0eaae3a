package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// checkKept requires that the audit trail outlives the versions that it names.
func (c *Config) checkKept() error {
	if c.AuditDays != 0 && c.KeptDays >= c.AuditDays {
		return fmt.Errorf("kept-days is %d and audit-days %d: undo needs the audit trail for longer than the versions", c.KeptDays, c.AuditDays)
	}
	return nil
}

func checkPlaceholder(v any) error {
	if strings.ContainsAny(v.(string), "\r\n") {
		return errors.New("the placeholder must be one line")
	}
	return nil
}

// checkProjectRoot requires an absolute path. It may be a path of another system, because the agents may run there.
func checkProjectRoot(v any) error {
	s := v.(string)
	drive := len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	if s == "" || drive || strings.HasPrefix(s, "/") {
		return nil
	}
	return fmt.Errorf("project-root is an absolute path, not %q", s)
}

func checkUpstream(v any) error {
	s := v.(string)
	if err := CheckBaseURL(s); err != nil {
		return err
	}
	if strings.Contains(s, "#") {
		return errors.New("a base URL has no fragment: take out the part from # on")
	}
	return nil
}

// CheckBaseURL returns why s is not a base URL. An empty s is allowed. The error does not quote s, because s may contain a password
// anywhere.
func CheckBaseURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return errors.New("this is not a base URL: want http:// or https:// and a host")
	case u.User != nil:
		return errors.New("this base URL has a user name: take it out; the agent sends its own key")
	}
	return nil
}

// checkStore does not quote the value, which may contain a password.
func checkStore(v any) error {
	s := v.(string)
	u, err := url.Parse(s)
	if s == "" || err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		return nil
	}
	return errors.New("store is a URL that begins with postgres://, with special characters percent-encoded; without it a file is used")
}
