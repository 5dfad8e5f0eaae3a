package report

import (
	"fmt"
	"io"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
)

// Warm says until when the provider's prompt cache has a conversation, and what the conversation's next request costs until then and
// after.
type Warm struct {
	Conversation string    `json:"conversation"`
	Client       string    `json:"client,omitempty"`
	Model        string    `json:"model"`
	Until        time.Time `json:"until"`
	Within       float64   `json:"within"` // US dollars of its prompt, with nothing new in it
	After        float64   `json:"after"`
}

// Matters reports whether the end of the cache costs enough to be said: 5 cents.
func (w Warm) Matters() bool { return w.After-w.Within >= 0.05 }

// NextRequest returns what follows the request r of a conversation. It is false if the price or the cache's lifetime is not known, or if
// nothing is in the cache. The lifetime is counted from when r arrived: providers begin anew when a request reads the cache.
func NextRequest(r record.Request, c *prices.Catalog) (Warm, bool) {
	u := llm.Usage(r.Usage)
	cached := u.CacheRead + u.CacheWrite
	m, ok := c.Lookup(r.Model)
	if !ok || cached == 0 || r.Cache.Lifetime <= 0 {
		return Warm{}, false
	}
	next := llm.Usage{CacheWrite: u.Prompt() + u.Output, Speed: u.Speed, Region: u.Region, Tier: u.Tier}
	warm := next
	warm.CacheRead, warm.CacheWrite = cached, next.CacheWrite-cached
	if u.CacheWrite1h > 0 || r.Cache.Lifetime >= time.Hour {
		next.CacheWrite1h, warm.CacheWrite1h = next.CacheWrite, warm.CacheWrite
	}
	after, known := m.Cost(next)
	within, _ := m.Cost(warm)
	return Warm{r.Conversation, r.Client, r.Model, r.Time.Add(r.Cache.Lifetime), within, after}, known
}

// NextRequests returns what follows the newest request of each conversation, of sub-agents apart. The conversation that was used last is first.
func NextRequests(rows []record.Request, c *prices.Catalog) []Warm {
	all := []Warm{}
	for _, r := range record.Newest(rows) {
		if w, ok := NextRequest(*r, c); ok {
			all = append(all, w)
		}
	}
	return all
}

// Says is a sentence for people at a time. It is empty if the cache's end costs next to nothing.
func (w Warm) Says(now time.Time) string {
	if !w.Matters() {
		return ""
	}
	at := w.Until.Local().Format("15:04")
	if w.Until.Local().Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		at = w.Until.Local().Format("2006-01-02 15:04")
	}
	if now.Before(w.Until) {
		return fmt.Sprintf("the prompt cache is warm until %s; then the next request costs about %s instead of %s", at, inDollars(w.After), inDollars(w.Within))
	}
	return fmt.Sprintf("the prompt cache ended at %s: the next request costs about %s instead of %s", at, inDollars(w.After), inDollars(w.Within))
}

// PrintWarm writes a line for each conversation whose cache matters.
func PrintWarm(w io.Writer, all []Warm, now time.Time) {
	n := 0
	for _, c := range all {
		says := c.Says(now)
		if says == "" {
			continue
		}
		n++
		name := c.Conversation
		if c.Client != "" {
			name = c.Client + ", " + c.Model + ", " + Cropped(name, 8)
		}
		fmt.Fprintf(w, "%s: %s\n", Bold(name), says)
	}
	if n == 0 {
		fmt.Fprintln(w, "no conversation has a cache whose end would cost much")
	}
}
