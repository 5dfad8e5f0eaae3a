package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// Report is what `stet savings --json` prints: a row per session, their sums,
// and the files that were left out.
type Report struct {
	Sessions []Row  `json:"sessions"`
	Totals   Sums   `json:"totals"`
	Skipped  []Skip `json:"skipped"`
	// Copies counts answers that were left out because they are billed with another session.
	Copies int `json:"copies,omitempty"`
	// UnknownUsage has the keys of usage that no reader knows, and how often they have a number. They are not
	// in the bill.
	UnknownUsage map[string]int `json:"unknown_usage,omitempty"`
	// Groups has the bill by day, month, project, model and agent: see Report.By.
	Groups map[string][]Group `json:"groups"`
}

// Row is one session. Several may come from one file: an agent's sub-agents.
type Row struct {
	File    string    `json:"file"`
	Format  string    `json:"format"`
	ID      string    `json:"id,omitempty"`
	Agent   string    `json:"agent"`           // as people write it
	Title   string    `json:"title,omitempty"` // from the first prompt
	Then    string    `json:"then,omitempty"`  // from the next one that says something else
	Model   string    `json:"model,omitempty"` // that answered most
	Started time.Time `json:"started,omitzero"`
	// ThroughStet says that stet shortened the requests when the session was recorded: it was
	// charged what USD.With says, and Without is the estimate.
	ThroughStet bool `json:"through_stet,omitempty"`
	Sums
	Note  string `json:"note,omitempty"`  // what of it could not be read; the rest counts
	Error string `json:"error,omitempty"` // why it could not be replayed

	Answers []Billed `json:"-"` // all that were charged, in the order of time
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
	Policy    trim.Policy        `json:"policy"`
	CostOff   map[string]float64 `json:"cost_off"`
	Cost      map[string]float64 `json:"cost"`

	USD      *Dollars `json:"usd"`                // null: the prices of the model are not known
	Unpriced int      `json:"unpriced,omitempty"` // requests that are not in USD
	// LeftOut and Recalled count texts that were left out, and those of them that the agent would
	// have asked for again. Why has the tokens that requests did without, by reason.
	LeftOut  int                   `json:"left_out"`
	Recalled int                   `json:"recalled"`
	Why      map[trim.Reason]int64 `json:"why,omitempty"`
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
// without a request, are in Skipped. progress, if not nil, is called after every file, and at the end. The
// error is the configuration's or the context's; a file's trouble is in the report.
func Savings(ctx context.Context, paths []string, c Config, progress func(Progress)) (Report, error) {
	engine, err := trim.New(c.History)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Sessions: []Row{}, Skipped: []Skip{}, Totals: emptySums(engine.Policy())}
	var all []*entry // in the order of the files
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0)) // so few sessions are in memory at once
	var mu sync.Mutex
	var done Progress
	once := &copies{at: map[[16]byte]*link{}, forkedOf: map[string]string{}, roots: map[string]bool{}}
	err = c.Open.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			skip := NewSkip(path, err)
			all = append(all, &entry{skip: &skip})
		}
		for _, s := range sessions {
			of := new(entry)
			for key, n := range s.UnknownUsage {
				if rep.UnknownUsage == nil {
					rep.UnknownUsage = make(map[string]int)
				}
				rep.UnknownUsage[key] += n
			}
			if once.leaveOut(of, s) || !c.within(s) {
				continue
			}
			all = append(all, of)
			workers.Go(func() error {
				err := of.replay(ctx, path, s, c, engine.Policy())
				mu.Lock()
				defer mu.Unlock()
				if of.skip == nil {
					done.Sessions++
					done.Requests += of.row.Requests
				}
				return err
			})
		}
		mu.Lock()
		defer mu.Unlock()
		done.File, done.Files = path, done.Files+1
		if progress != nil {
			progress(done)
		}
		return nil
	})
	if err := errors.Join(workers.Wait(), err); err != nil {
		return rep, err
	}
	if progress != nil && done.Files > 0 {
		progress(done) // the sessions of the last files, too
	}
	once.relink()
	for _, of := range all {
		if of.skip != nil {
			rep.Skipped = append(rep.Skipped, *of.skip)
			continue
		}
		if of.settle(c.lookup()) {
			continue
		}
		rep.Sessions = append(rep.Sessions, of.row)
		rep.Totals.Add(of.row.Sums)
	}
	rep.Copies = once.n
	rep.Groups = map[string][]Group{}
	for _, how := range Groupings() {
		rep.Groups[how] = rep.By(how)
	}
	return rep, nil
}

// Session replays one recorded session: as it was sent (off), and under the policy
// of package trim that c sets up. It stops with the context's error.
func Session(ctx context.Context, s *transcript.Session, c Config) (off, with Outcome, err error) {
	return New(s, &c).session(ctx, c)
}

func (r *Replay) session(ctx context.Context, c Config) (off, with Outcome, err error) {
	policy, err := Ours(c.History)
	if err != nil {
		return off, with, fmt.Errorf("replay %s: %w", r.Session.File, err)
	}
	rules := Rules()
	if c.OneRule {
		rules = rules[:1]
	}
	if off, err = r.Under(ctx, nil, rules); err == nil {
		with, err = r.Under(ctx, policy, rules)
	}
	return off, with, err
}

// entry is what came of a session, or of a file without one.
type entry struct {
	row    Row
	skip   *Skip
	fuller map[[16]byte]llm.Usage // by key: of answers of which another session has a fuller snapshot
	copied map[[16]byte]bool      // keys of answers that are billed with another session
}

// settle removes the answers that turned out to be copies, and prices those that another session shows more fully. It
// reports whether no answer is left of some.
func (of *entry) settle(lookup func(string) (prices.Model, bool)) (empty bool) {
	if of.fuller == nil && of.copied == nil {
		return false
	}
	r := &of.row
	own := r.Answers[:0]
	r.Unpriced = 0
	for _, b := range r.Answers {
		if of.copied[b.key] {
			continue
		}
		if u, ok := of.fuller[b.key]; ok {
			m, _ := lookup(b.Model)
			b.Usage, b.Unreported = u, 0
			b.Reported, b.Priced = m.Cost(u)
		}
		if !b.Priced {
			r.Unpriced++
		}
		own = append(own, b)
	}
	empty = len(own) == 0 && len(r.Answers) > 0
	r.Answers, r.Requests = own, len(own)
	if r.USD != nil {
		r.USD.total(own, r.ThroughStet)
	}
	return empty
}

// replay replays one session.
func (of *entry) replay(ctx context.Context, path string, s *transcript.Session, c Config, policy trim.Policy) error {
	r := New(s, &c)
	off, with, err := r.session(ctx, c)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	about, then := TitlesOf(s)
	of.row = Row{
		File: path, Format: s.Format, ID: s.ID, Agent: s.Product, Title: about, Then: then, Model: s.Model,
		Started: started(s), Sums: emptySums(policy),
	}
	switch {
	case err != nil:
		of.row.Error = err.Error()
	default:
		of.row.Sums = newSums(policy, &off, &with)
		through := c.Through.session(s)
		of.row.ThroughStet = through != nil
		of.row.Note = DamageNote(s)
		if err := of.row.price(ctx, r, c, through); err != nil {
			return err
		}
		if of.row.Requests == 0 {
			skip := NoRequest(path)
			of.skip = &skip
		}
	}
	return nil
}

// price fills in what the session cost in dollars, and what was left out for that.
func (r *Row) price(ctx context.Context, of *Replay, c Config, through map[int]Passed) error {
	answers, usd, with, err := of.bill(ctx, c.History, through)
	if err != nil {
		return fmt.Errorf("price %s: %w", r.File, err)
	}
	r.Answers, r.Requests = answers, len(answers)
	r.USD, r.LeftOut, r.Recalled, r.Why = usd, with.LeftOut, with.Recalled, with.Omitted
	for _, b := range answers {
		if !b.Priced {
			r.Unpriced++
		}
	}
	return nil
}

// TitlesOf returns what the person's first message is about, and the next one that is about something else.
func TitlesOf(s *transcript.Session) (first, then string) {
	for _, m := range s.Messages {
		if m.Role != llm.User || m.Local {
			continue
		}
		for _, p := range m.Parts {
			switch t := llm.Title(p.Text); {
			case p.Kind != llm.Text || t == "" || t == first:
			case first == "":
				first = t
			default:
				return first, t
			}
		}
	}
	return first, ""
}

// started returns the time of the first message that has one.
func started(s *transcript.Session) time.Time {
	for _, m := range s.Messages {
		if !m.Time.IsZero() {
			return m.Time
		}
	}
	return time.Time{}
}

// NewSkip returns the row of a file for which transcript.Opener.Walk gives err.
func NewSkip(path string, err error) Skip {
	skip := Skip{File: path, Unread: !transcript.Skipped(err)}
	var e *fs.PathError
	switch {
	case errors.Is(err, transcript.ErrFormat):
		skip.Reason = transcript.ErrFormat.Error()
	case errors.As(err, &e) && e.Path == path:
		skip.Reason = e.Err.Error()
	default:
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

func newSums(p trim.Policy, off, with *Outcome) Sums {
	return Sums{
		Requests: off.Requests, TokensOff: off.Tokens, Tokens: with.Tokens, Reads: with.Reads, Repeats: with.Repeats,
		Dangling: with.Dangling, Policy: p, CostOff: off.Cost, Cost: with.Cost,
	}
}

func emptySums(p trim.Policy) Sums {
	s := Sums{Policy: p, CostOff: make(map[string]float64), Cost: make(map[string]float64)}
	for _, r := range prices.Rules() {
		s.CostOff[r.Name], s.Cost[r.Name] = 0, 0
	}
	return s
}

// Add adds the figures of o.
func (s *Sums) Add(o Sums) {
	s.Requests += o.Requests
	s.TokensOff += o.TokensOff
	s.Tokens += o.Tokens
	s.Reads += o.Reads
	s.Repeats += o.Repeats
	s.Dangling += o.Dangling
	s.LeftOut += o.LeftOut
	s.Recalled += o.Recalled
	s.Unpriced += o.Unpriced
	if s.Why == nil {
		s.Why = make(map[trim.Reason]int64)
	}
	for why, n := range o.Why {
		s.Why[why] += n
	}
	if o.USD != nil {
		sum := *o.USD
		if s.USD != nil {
			sum.add(*s.USD)
		}
		s.USD = &sum
	}
	for name, v := range o.CostOff {
		s.CostOff[name] += v
	}
	for name, v := range o.Cost {
		s.Cost[name] += v
	}
}
