package proxy

import (
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
	maxMeters  = 200 // accounts times limits
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
			reset := h.Get(name[:len(name)-len("-utilization")] + "-Reset")
			m.set(to, asked, record.Meter{Provider: "anthropic", Limit: limit, Used: used, Reset: seconds(reset)})
		}
		if family, ok := between(lower, "x-", "-used-percent"); ok {
			base := name[:len(name)-len("-used-percent")]
			minutes, _ := strconv.Atoi(h.Get(base + "-Window-Minutes"))
			m.set(to, asked, record.Meter{Provider: "codex", Limit: window(family, minutes), Used: used / 100, Reset: seconds(h.Get(base + "-Reset-At"))})
		}
	}
}

// event reads the event codex.rate_limits of a socket.
func (m *meters) event(to endpoint, asked http.Header, text []byte) {
	type limit struct {
		Used    *float64 `json:"used_percent"`
		Minutes int      `json:"window_minutes"`
		Reset   int64    `json:"reset_at"`
	}
	var e struct {
		Limits struct {
			Primary   *limit `json:"primary"`
			Secondary *limit `json:"secondary"`
		} `json:"rate_limits"`
	}
	if json.Unmarshal(text, &e) != nil {
		return
	}
	for name, l := range map[string]*limit{"codex-primary": e.Limits.Primary, "codex-secondary": e.Limits.Secondary} {
		if l != nil && l.Used != nil {
			m.set(to, asked, record.Meter{Provider: "codex", Limit: window(name, l.Minutes), Used: *l.Used / 100, Reset: seconds(strconv.FormatInt(l.Reset, 10))})
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

// seconds reads a time in seconds since 1970; the zero time: it is none.
func seconds(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
