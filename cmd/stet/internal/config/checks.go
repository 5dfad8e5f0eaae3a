package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// atLeast0 returns a check that refuses negative numbers. what describes the number.
func atLeast0(what string) func(any) error {
	return func(v any) error {
		if v.(int) < 0 {
			return fmt.Errorf("%s, not %d", what, v)
		}
		return nil
	}
}

// between returns a check that refuses numbers outside of a range. what describes the number.
func between(what string, least, most int) func(any) error {
	return func(v any) error {
		if n := v.(int); n < least || n > most {
			return fmt.Errorf("%s, %d to %d, not %d", what, least, most, n)
		}
		return nil
	}
}

func checkCompact(v any) error {
	if v.(int) == 0 {
		return nil
	}
	return between("compact is percent of the window (0 for never)", 10, 99)(v)
}

// checkKept requires that the audit trail outlives the versions that it names.
func (c *Config) checkKept() error {
	if c.AuditDays != 0 && c.KeptDays >= c.AuditDays {
		return fmt.Errorf("kept-days is %d and audit-days %d: undo needs the audit trail for longer than the versions", c.KeptDays, c.AuditDays)
	}
	return nil
}

func enoughMemory(v any) error {
	const least = 64
	if mb := v.(int); mb < least {
		return fmt.Errorf("proxy-memory: %d megabytes are not enough: want %d or more", mb, least)
	}
	return nil
}

// seconds validates how long a call waits for a person.
func seconds(key string) func(any) error {
	return func(v any) error {
		if n := v.(int); n < 1 || n > 3600 {
			return fmt.Errorf("%s is a number of seconds from 1 to 3600, not %d", key, n)
		}
		return nil
	}
}

// CheckAuditDays validates a value of audit-days.
func CheckAuditDays(days int) error {
	if days != 0 && days < LeastAuditDays {
		return fmt.Errorf("audit-days is a number of days, %d or more, which undo needs, or 0 (for ever), not %d", LeastAuditDays, days)
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

// checkHoldout checks the key holdout.
func checkHoldout(v any) error {
	if n := v.(int); n != 0 && (n < 2 || n > 100) {
		return errors.New("holdout is one of how many conversations: 2 to 100, or 0 for none")
	}
	return nil
}
