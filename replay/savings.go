package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/transcript"
)

// Report is what `stet savings --json` prints: a row per session, their sums,
// and the files that were left out.
type Report struct {
	Sessions []Row  `json:"sessions"`
	Totals   Sums   `json:"totals"`
	Skipped  []Skip `json:"skipped"`
}

// Row is one session. Several may come from one file: an agent's sub-agents.
type Row struct {
	File   string `json:"file"`
	Format string `json:"format"`
	Sums
	Note  string `json:"note,omitempty"`  // what of it could not be read; the rest counts
	Error string `json:"error,omitempty"` // why it could not be replayed
}

// Sums are a session's figures, or those of all sessions together. "Off" is
// without the policy. Costs are objects by price rule, in plain input tokens.
type Sums struct {
	Requests  int                `json:"requests"`
	TokensOff int64              `json:"tokens_off"`
	Tokens    int64              `json:"tokens"`
	Reads     int                `json:"reads"`
	Repeats   int                `json:"repeats"`
	Dangling  int                `json:"dangling"`
	Policy    history.Policy     `json:"policy"`
	CostOff   map[string]float64 `json:"cost_off"`
	Cost      map[string]float64 `json:"cost"`
}

// Skip is a file that was left out.
type Skip struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	// Unread says that the file may hold sessions, but could not be read.
	Unread bool `json:"-"`
}

// Progress is what Savings has done so far.
type Progress struct {
	File     string // the file just read
	Files    int    // files read so far, skipped ones included
	Sessions int    // sessions replayed so far
	Requests int    // in them
}

// Savings replays the sessions in paths: files, and directories with all that
// is below them (transcript.Opener.Walk). Files that hold no session, and sessions
// without a request, are in Skipped. progress, if not nil, is called after every file. The
// error is the configuration's or the context's; a file's trouble is in the report.
func Savings(ctx context.Context, paths []string, c Config, progress func(Progress)) (Report, error) {
	engine, err := history.New(c.History)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Sessions: []Row{}, Skipped: []Skip{}, Totals: emptySums(engine.Policy())}
	var done Progress
	err = c.Open.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			rep.Skipped = append(rep.Skipped, NewSkip(path, err))
		}
		for _, s := range sessions {
			if err := rep.add(ctx, path, s, c); err != nil {
				return err
			}
		}
		done.File, done.Files = path, done.Files+1
		done.Sessions, done.Requests = len(rep.Sessions), rep.Totals.Requests
		if progress != nil {
			progress(done)
		}
		return nil
	})
	return rep, err
}

// Session replays one recorded session: as it was sent (off), and under the policy
// of package history that c sets up. It stops with the context's error.
func Session(ctx context.Context, s *transcript.Session, c Config) (off, with Outcome, err error) {
	policy, err := Ours(c.History)
	if err != nil {
		return off, with, fmt.Errorf("replay %s: %w", s.File, err)
	}
	r := New(s, &c)
	if off, err = r.Under(ctx, nil, prices.Rules()); err == nil {
		with, err = r.Under(ctx, policy, prices.Rules())
	}
	return off, with, err
}

// add replays one session into the report.
func (r *Report) add(ctx context.Context, path string, s *transcript.Session, c Config) error {
	off, with, err := Session(ctx, s, c)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	row := Row{File: path, Format: s.Format, Sums: emptySums(r.Totals.Policy)}
	switch {
	case err != nil:
		row.Error = err.Error()
	case off.Requests == 0:
		r.Skipped = append(r.Skipped, NoRequest(path))
		return nil
	default:
		row.Sums = newSums(r.Totals.Policy, &off, &with)
		row.Note = DamageNote(s)
		r.Totals.add(row.Sums)
	}
	r.Sessions = append(r.Sessions, row)
	return nil
}

// NewSkip returns the row of a file for which transcript.Opener.Walk gives err.
func NewSkip(path string, err error) Skip {
	skip := Skip{File: path, Unread: !transcript.Skipped(err)}
	var e *fs.PathError
	if errors.As(err, &e) && e.Path == path {
		skip.Reason = e.Err.Error()
	} else {
		reason := strings.TrimPrefix(err.Error(), "read session ")
		skip.Reason = strings.TrimPrefix(strings.TrimPrefix(reason, path), ": ")
	}
	return skip
}

// NoRequest returns the row of a file that holds a session without a request.
func NoRequest(path string) Skip {
	return Skip{File: path, Reason: "no request: nothing in it was answered"}
}

// DamageNote says what of a session could not be read; empty if nothing.
func DamageNote(s *transcript.Session) string {
	d := s.Damaged
	if len(d) == 0 {
		return ""
	}
	where := ""
	if d[0].Line > 0 {
		where = fmt.Sprintf("line %d: ", d[0].Line)
	}
	if len(d) == 1 {
		return fmt.Sprintf("left out: %s%s", where, d[0].Reason)
	}
	return fmt.Sprintf("left out: %s%s, and %d more", where, d[0].Reason, len(d)-1)
}

func newSums(p history.Policy, off, with *Outcome) Sums {
	return Sums{
		Requests: off.Requests, TokensOff: off.Tokens, Tokens: with.Tokens, Reads: with.Reads, Repeats: with.Repeats,
		Dangling: with.Dangling, Policy: p, CostOff: off.Cost, Cost: with.Cost,
	}
}

func emptySums(p history.Policy) Sums {
	s := Sums{Policy: p, CostOff: make(map[string]float64), Cost: make(map[string]float64)}
	for _, r := range prices.Rules() {
		s.CostOff[r.Name], s.Cost[r.Name] = 0, 0
	}
	return s
}

func (s *Sums) add(o Sums) {
	s.Requests += o.Requests
	s.TokensOff += o.TokensOff
	s.Tokens += o.Tokens
	s.Reads += o.Reads
	s.Repeats += o.Repeats
	s.Dangling += o.Dangling
	for name, v := range o.CostOff {
		s.CostOff[name] += v
	}
	for name, v := range o.Cost {
		s.Cost[name] += v
	}
}
