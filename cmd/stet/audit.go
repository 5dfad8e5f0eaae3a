package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/workspace"
)

// auditFlags choose what of the trail is shown.
type auditFlags struct {
	root, session string
	last          int
	json, verify  bool
	known         []string
}

func (p *program) auditCommand() *cobra.Command {
	var a auditFlags
	cmd := &cobra.Command{
		Use:   "audit [flags]",
		Short: "Show what was done to files, and who decided it",
		Long: `Show the audit trail of the file tools: every call, and of every write what was
there before and after, by hash. There is no content in it.

Each entry bears the hash of the one before. --verify follows this chain and
ends with code 1 where it is broken. That its end was cut off a chain cannot
show; so stet notes in a file beside it how far it reaches. Who can change both can
deceive it: keep what --verify prints of the last entry elsewhere, and hand it in
with --known.`,
		Example: `# The newest entries
stet audit

# Everything that was done in a workspace, for a program
stet audit --root . --last 0 --json

# Is it whole?
stet audit --verify --known 412:5f1e…`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.last < 0 {
				return usage(cmd, fmt.Errorf("--last: want a number of entries, 0 is all, not %d", a.last))
			}
			known, err := links(a.known)
			if err != nil {
				return usage(cmd, err)
			}
			if len(known) > 0 && !a.verify {
				return usage(cmd, errors.New("--known is for --verify"))
			}
			if a.root != "" {
				a.root = p.realPath(a.root)
			}
			trail, err := p.openTrail(cmd.Context())
			if err != nil {
				return err
			}
			if a.verify {
				err = p.verify(cmd.Context(), trail, a.json, known)
			} else {
				err = p.printTrail(cmd.Context(), trail, a)
			}
			return errors.Join(err, trail.Close())
		},
	}
	cmd.AddCommand(p.auditAcceptCommand(), p.auditPruneCommand())
	f := cmd.Flags()
	f.StringVar(&a.root, "root", "", "only what was done in this workspace")
	f.StringVar(&a.session, "session", "", "only what this session did")
	f.IntVar(&a.last, "last", 50, "so many entries, the newest; 0 is all")
	f.BoolVar(&a.json, "json", false, "print JSON, an object a line")
	f.BoolVar(&a.verify, "verify", false, "check that nothing was changed or taken out")
	f.StringSliceVar(&a.known, "known", nil, "with --verify: an entry that must be there, as NUMBER:HASH")
	return cmd
}

// realPath is path with its links resolved, as far as it is there.
func (p *program) realPath(path string) string {
	if dir, err := p.workspaceDir(path); err == nil {
		return dir
	}
	return p.absolute(path) // what is gone may still be in the trail
}

// links reads NUMBER:HASH.
func links(given []string) ([]record.Link, error) {
	var all []record.Link
	for _, s := range given {
		l, err := record.ParseLink(s)
		if err != nil {
			return nil, fmt.Errorf("--known: %w, as --verify prints it", err)
		}
		all = append(all, l)
	}
	return all, nil
}

func (p *program) printTrail(ctx context.Context, trail record.Trail, a auditFlags) error {
	entries, err := trail.Entries(ctx, record.TrailQuery{Root: a.root, Session: a.session, Limit: a.last, Last: true})
	if err != nil {
		return err
	}
	if len(entries) == 0 && !a.json {
		p.say("nothing of that is recorded")
		return nil
	}
	out := json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	for _, e := range entries {
		if a.json {
			err = out.Encode(e)
		} else {
			_, err = fmt.Fprintln(p.out, entryLine(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entryLine is an entry for people to read.
func entryLine(e record.Entry) string {
	what := cmp.Or(e.Outcome, string(e.Kind))
	if e.Kind != record.Call && e.Kind != record.Outcome && e.Kind != record.Intent {
		what = string(e.Kind)
	}
	line := fmt.Sprintf("%6d  %s  %s  %-10s %s: %s", e.Seq, e.Time.Local().Format(time.DateTime), workspace.Quote(e.Session),
		cmp.Or(workspace.Quote(e.Tool), "-"), cmp.Or(workspace.Quote(e.Path), "-"), what)
	if e.Kind == record.Prune || e.Kind == record.Loss {
		line += fmt.Sprintf(", up to entry %d", e.Intent)
	}
	if e.Decision != "" {
		line += fmt.Sprintf(" (%s, by %s)", workspace.Quote(e.Decision), workspace.Quote(e.By))
	}
	if e.Kind == record.Intent && e.Path != "" {
		line += fmt.Sprintf(" %s -> %s", short(e.Before), short(e.After))
	}
	if len(e.Flags) > 0 {
		line += " [" + workspace.Quote(strings.Join(e.Flags, ", ")) + "]"
	}
	return line
}

// short is the beginning of a content hash.
func short(hash string) string {
	if hash == "" {
		return "(no file)"
	}
	return hash[:min(12, len(hash))]
}

// verify follows the chain, and fails where it does not hold.
func (p *program) verify(ctx context.Context, trail record.Trail, asJSON bool, known []record.Link) error {
	v, err := record.Verify(ctx, trail, known...)
	if err != nil {
		return err
	}
	if asJSON {
		report := struct {
			Entries int      `json:"entries"`
			Head    string   `json:"head,omitempty"`
			Pruned  string   `json:"pruned,omitempty"`
			Broken  uint64   `json:"broken,omitempty"`
			Why     string   `json:"why,omitempty"`
			Open    []uint64 `json:"open,omitempty"`
		}{Entries: v.Entries}
		if v.Entries > 0 {
			report.Head = v.Head.String()
		}
		if v.Pruned.Seq > 0 {
			report.Pruned = v.Pruned.String()
		}
		if v.Broken != nil {
			report.Broken, report.Why = v.Broken.Seq, v.Broken.Why
		}
		for _, e := range v.Open {
			report.Open = append(report.Open, e.Seq)
		}
		if err := json.NewEncoder(p.out).Encode(report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "%s together\n", map[bool]string{true: "1 entry holds", false: fmt.Sprintf("%d entries hold", v.Entries)}[v.Entries == 1])
		if v.Entries > 0 {
			fmt.Fprintf(p.out, "the last is %s\n", v.Head)
		}
		if v.Pruned.Seq > 0 && v.Broken == nil {
			fmt.Fprintf(p.out, "the entries up to %s were pruned\n", v.Pruned)
		}
		for _, e := range v.Losses {
			fmt.Fprintf(p.out, "entry %d says that the entries up to %d were lost, and that a person knows of it\n", e.Seq, e.Intent)
		}
		for _, e := range v.Open {
			fmt.Fprintf(p.out, "write %d to %s has no outcome: it is under way, or was cut off\n", e.Seq, workspace.Quote(e.Path))
		}
	}
	if v.Broken != nil {
		return fmt.Errorf("the trail is broken at entry %d: %s", v.Broken.Seq, v.Broken.Why)
	}
	return nil
}
