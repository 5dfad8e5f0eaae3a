package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/trim/dialect"
	sessioncheck "github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

// recorded checks what the proxy recorded in the last days.
func (c *doctorCommand) recorded(ctx context.Context, o *config.Config) {
	if !o.Record {
		c.found(checkWarning, "record", "set record = true: \"stet savings\" and this check need it", "nothing is recorded (record = false)")
		return
	}
	where, err := c.storeThere()
	if errors.Is(err, fs.ErrNotExist) {
		c.found(checkOK, "record", "run an agent with \"stet wrap -- AGENT\"", "no request has come through yet")
		return
	}
	if err != nil {
		c.found(checkProblem, "database", "", "%v", err)
		return
	}
	requests, ok := c.database(ctx, where)
	if !ok {
		return
	}
	if _, err := c.models(o.Prices); err != nil {
		c.found(checkProblem, "record", "correct the file of prices", "%v", err)
		return
	}
	var f recordedFacts
	for i := range requests {
		f.add(&requests[i])
	}
	c.tellRecorded(&f)
}

// database checks the store, and returns the requests of the last days; ok is false if it cannot be read.
func (c *doctorCommand) database(ctx context.Context, where string) (requests []record.Request, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	has, err := store.Inspect(ctx, where, record.Query{From: time.Now().AddDate(0, 0, -recordedDays)})
	name := store.Name(where)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.found(checkWarning, "database", "try again while less is going on", "%s: reading it takes longer than %s", name, checkTime)
	case err != nil:
		c.found(checkProblem, "database", "see docs/operations.md; sessions go on without the record", "%v", err)
	case has.Schema == 0 && store.IsDatabase(where):
		c.found(checkOK, "database", "", "%s is empty; the next command that uses it makes its tables", name)
	case has.Schema != has.Newest:
		c.found(checkProblem, "database", "install that version again, or name another database",
			"%s has schema %d, of another version of stet; this one knows %d", name, has.Schema, has.Newest)
	default:
		size := ""
		if info, err := os.Stat(where); err == nil {
			size = fmt.Sprintf(", %.1f MB", float64(info.Size())/1e6)
		}
		c.found(checkOK, "database", "", "%s has schema %d%s, %d requests, %d sessions, %d entries in the audit trail",
			name, has.Schema, size, has.Rows["requests"], has.Rows["sessions"], has.Rows["trail"])
		return has.Requests, true
	}
	return nil, false
}

// recordedFacts has doctor's results about recorded requests.
type recordedFacts struct {
	requests, refused, failed, prompt, read, own int
	passed                                       map[string]int
}

func (f *recordedFacts) add(r *record.Request) {
	if r.API == record.CountTokens {
		return
	}
	f.requests++
	f.prompt += r.Usage.Prompt()
	f.read += r.Usage.CacheRead
	switch {
	case r.Status == http.StatusBadRequest:
		f.refused++
	case r.Status == 0 || r.Status >= http.StatusInternalServerError:
		f.failed++
	}
	if r.Cache.Broke == record.BrokeStet {
		f.own++
	}
	if r.Passed != "" {
		if f.passed == nil {
			f.passed = map[string]int{}
		}
		f.passed[r.Passed]++
	}
}

func (c *doctorCommand) tellRecorded(f *recordedFacts) {
	if f.requests == 0 {
		c.found(checkOK, "record", "run an agent with \"stet wrap -- AGENT\"", "no request in the last %d days", recordedDays)
		return
	}
	const days = recordedDays
	untouched := 0
	var why []string
	for cause, n := range f.passed {
		untouched += n
		why = append(why, fmt.Sprintf("%d %s", n, cause))
	}
	slices.Sort(why)
	switch {
	case f.refused*20 > f.requests:
		c.found(checkWarning, "requests", "\"stet wrap --log FILE\" or the key log shows each; with --observe they go as they came", "%d in %d days, %d of them refused as wrong (400), %d failed", f.requests, days, f.refused, f.failed)
	case untouched*2 > f.requests:
		c.found(checkWarning, "requests", "docs/proxy.md says what each word means", "%d in %d days; %d passed untouched: %s", f.requests, days, untouched, strings.Join(why, ", "))
	default:
		c.found(checkOK, "requests", "", "%d in %d days; %d refused as wrong (400), %d failed, %d passed untouched", f.requests, days, f.refused, f.failed, untouched)
	}
	if f.prompt > 0 {
		share := 100 * float64(f.read) / float64(f.prompt)
		state, do := checkOK, ""
		if share < 50 && f.requests >= 20 {
			state, do = checkWarning, "\"stet cache --live\" shows where it broke, and why"
		}
		c.found(state, "cache", do, "%.0f %% of the prompts were read from the provider's cache; stet broke it %d times, to send less from then on", share, f.own)
	}
}

// readFiles is of how many of the newest session files doctor looks at the reads.
const readFiles = 20

// reads checks whether stet knows the forms in which agents' tools show files, in the newest sessions of the last days. There is
// no such check without sessions.
func (c *doctorCommand) reads(ctx context.Context, o *config.Config) {
	table := dialect.Default()
	if o != nil && o.Dialects != nil {
		table = o.Dialects
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	changed := make(map[string]time.Time)
	for _, s := range transcript.Find(c.home(), c.getenv) {
		for _, file := range sessionFiles(ctx, s.Path, time.Now().AddDate(0, 0, -recordedDays)) {
			if info, err := os.Stat(file); err == nil {
				changed[file] = info.ModTime()
			}
		}
	}
	files := slices.SortedFunc(maps.Keys(changed), func(a, b string) int { return changed[b].Compare(changed[a]) })
	n, unknown := 0, make(map[string]int)
	_ = transcript.Opener{SQLite: openReadOnly}.Walk(files[:min(readFiles, len(files))], func(_ string, sessions []*transcript.Session, _ error) error {
		for _, s := range sessions {
			n++
			for _, u := range sessioncheck.UnreadTools(s, table) {
				unknown[fmt.Sprintf("%s of %s", u.Tool, s.Product)] += u.Unread
			}
		}
		return ctx.Err()
	})
	var names []string
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, unknown[name]))
	}
	switch {
	case n == 0:
	case len(names) > 0:
		c.found(checkWarning, "reads", "\"stet cache SESSION\" shows it for a session; nothing is left out of these results when they are new",
			"results in a form that stet does not know: %s", strings.Join(names, ", "))
	default:
		c.found(checkOK, "reads", "", "the form of all reads is known in the newest %d sessions", n)
	}
}
