package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/history"
)

func checkPolicy(v any) error {
	_, err := history.ParsePolicy(v.(string))
	return err
}

func checkKeepShell(v any) error {
	if n := fmt.Sprint(v); strings.HasPrefix(n, "-") {
		return fmt.Errorf("keep-shell is a number of outputs, 0 (all) or more, not %s", n)
	}
	return nil
}

func checkKeep(v any) error {
	if n := fmt.Sprint(v); strings.HasPrefix(n, "-") {
		return fmt.Errorf("keep is a number of reads, 0 or more, not %s", n)
	}
	return nil
}

func checkRecordDays(v any) error {
	if n := fmt.Sprint(v); strings.HasPrefix(n, "-") {
		return fmt.Errorf("record-days is a number of days, 0 (for ever) or more, not %s", n)
	}
	return nil
}

func checkAuditDays(v any) error {
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil || n != 0 && n < leastAuditDays {
		return fmt.Errorf("audit-days is a number of days, %d or more, which undo needs, or 0 (for ever), not %v", leastAuditDays, v)
	}
	return nil
}

func checkLanguage(v any) error {
	if s := v.(string); s != "" && s != "en" && s != "zh" {
		return fmt.Errorf("unknown language %q: choose en or zh, or give a placeholder of your own", s)
	}
	return nil
}

func checkPlaceholder(v any) error {
	if strings.ContainsAny(v.(string), "\r\n") {
		return errors.New("the placeholder must be one line")
	}
	return nil
}

// checkProjectRoot wants an absolute path, which may be one of another system: the agents
// may run there.
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
	if err := checkBase(s); s == "" || err != nil {
		return err
	}
	if strings.ContainsAny(s, "?#") {
		return errors.New("a base URL has no query and no fragment")
	}
	return nil
}

// checkBase says why s, if it is not empty, is no base URL. It does not say
// what s is: there may be a password in it, and nobody knows where.
func checkBase(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return errors.New("this is no base URL: want http:// or https:// and a host")
	case u.User != nil:
		return errors.New("there is a user name in this base URL: keys are the agent's to send")
	}
	return nil
}
