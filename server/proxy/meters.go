package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
)

// Providers say in headers, and Codex's in an event, how much of a subscription's limits is used. This is of the whole account: no part
// of it can be said of a conversation.

const (
	maxMeters  = 200                 // accounts times limits
	maxReset   = 40 * 24 * time.Hour // how far from now a limit's reset can be
	meterEvent = "codex.rate_limits"
)

// meters stores what providers say of limits, when it changes.
type meters struct {
	write func(record.Batch)

	mu   sync.Mutex
	last map[string]string // the text of the note, by its key
}

// hear reads the headers of an answer.
func (m *meters) hear(to endpoint, asked, h http.Header) {
	for name := range h {
		lower := strings.ToLower(name)
		used, err := strconv.ParseFloat(h.Get(name), 64)
		if err != nil {
			continue
		}
		if limit, ok := between(lower, "anthropic-ratelimit-unified-", "-utilization"); ok {
			m.set(to, asked, record.Meter{Provider: "anthropic", Limit: limit, Used: used, Reset: resetAt(h.Get("anthropic-ratelimit-unified-" + limit + "-reset"))})
		}
		if family, ok := between(lower, "x-", "-used-percent"); ok {
			base := name[:len(name)-len("-used-percent")]
			minutes, _ := strconv.Atoi(h.Get(base + "-Window-Minutes"))
			m.set(to, asked, record.Meter{Provider: "codex", Limit: window(family, minutes), Used: used / 100, Reset: resetAt(h.Get(base + "-Reset-At"))})
		}
	}
}

// event reads the event codex.rate_limits of a socket. What is not of the usual form is passed over, and the rest is read.
func (m *meters) event(to endpoint, asked http.Header, text []byte) {
	var e struct {
		Limits map[string]json.RawMessage `json:"rate_limits"`
		Family string                     `json:"metered_limit_name"`
	}
	if json.Unmarshal(text, &e) != nil {
		return
	}
	family := strings.ReplaceAll(cmp.Or(e.Family, "codex"), "_", "-")
	for _, name := range []string{"primary", "secondary"} {
		var limit map[string]any
		_ = json.Unmarshal(e.Limits[name], &limit) // nothing, if it is no object
		if used, known := limit["used_percent"].(float64); known {
			minutes, _ := limit["window_minutes"].(float64)
			reset, _ := limit["reset_at"].(float64)
			m.set(to, asked, record.Meter{Provider: "codex", Limit: window(family+"-"+name, int(minutes)), Used: used / 100, Reset: resetAt(fmt.Sprintf("%.0f", reset))})
		}
	}
}

// set notes a meter. A share that cannot be is passed over.
func (m *meters) set(to endpoint, asked http.Header, now record.Meter) {
	if !(now.Used >= 0 && now.Used <= 100) {
		return
	}
	now.Limit = shortCopy(now.Limit)
	key := fmt.Sprintf("%s %x %s", now.Provider, uint32(accountOf(to, asked)), now.Limit)
	b, _ := json.Marshal(now) // strings and finite numbers always marshal
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last[key] == string(b) {
		return
	}
	if m.last == nil || len(m.last) >= maxMeters {
		m.last = map[string]string{}
	}
	m.last[key] = string(b)
	m.write(record.Batch{Notes: []record.Note{{Kind: record.NoteMeter, Key: key, Text: string(b), Time: time.Now()}}})
}

// between returns what is between a prefix and a suffix of s.
func between(s, prefix, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) <= len(suffix) || !strings.HasSuffix(rest, suffix) {
		return "", false
	}
	return strings.TrimSuffix(rest, suffix), true
}

// window names a limit by its length, and a limit that is not of the usual family also by its name.
func window(name string, minutes int) string {
	length := name
	switch {
	case minutes <= 0:
	case minutes%(24*60) == 0:
		length = fmt.Sprintf("%dd", minutes/(24*60))
	case minutes%60 == 0:
		length = fmt.Sprintf("%dh", minutes/60)
	default:
		length = fmt.Sprintf("%dm", minutes)
	}
	if usual := strings.HasPrefix(name, "codex-primary") || strings.HasPrefix(name, "codex-secondary"); !usual && length != name {
		length = name + " " + length
	}
	return length
}

// resetAt reads the time at which a limit begins anew, in seconds since 1970. A time that is no time of a limit is the zero time: the longest limit
// is of a month.
func resetAt(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if at := time.Unix(n, 0).UTC(); err == nil && time.Until(at).Abs() < maxReset {
		return at
	}
	return time.Time{}
}
