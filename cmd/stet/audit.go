package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/report"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// auditCommand is stet audit.
type auditCommand struct {
	command
	root, session string
	last          int
	json, verify  bool
	known         []string
}

func newAudit(p *program) *cobra.Command {
	c := &auditCommand{}
	cmd := p.runs(&cobra.Command{
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
	}, &c.command, c.Run)
	cmd.AddCommand(newAuditAccept(p), newAuditPrune(p))
	f := cmd.Flags()
	f.StringVar(&c.root, "root", "", "only what was done in this workspace")
	f.StringVar(&c.session, "session", "", "only what this session did")
	f.IntVar(&c.last, "last", 50, "so many entries, the newest; 0 is all")
	f.BoolVar(&c.json, "json", false, "print JSON, an object a line")
	f.BoolVar(&c.verify, "verify", false, "check that nothing was changed or taken out")
	f.StringSliceVar(&c.known, "known", nil, "with --verify: an entry that must be there, as NUMBER:HASH")
	return cmd
}

func (c *auditCommand) Run(ctx context.Context) error {
	if c.last < 0 {
		return c.usage(fmt.Errorf("--last: want a number of entries, 0 is all, not %d", c.last))
	}
	known, err := links(c.known)
	if err != nil {
		return c.usage(err)
	}
	if len(known) > 0 && !c.verify {
		return c.usage(errors.New("--known is for --verify"))
	}
	if c.root != "" {
		c.root = c.realPath(c.root)
	}
	return c.withTrail(ctx, func(trail *sqlite.Store) error {
		if c.verify {
			return c.verifyTrail(ctx, trail, known)
		}
		return c.print(ctx, trail)
	})
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

func (c *auditCommand) print(ctx context.Context, trail record.Trail) error {
	entries, err := trail.Entries(ctx, record.TrailQuery{Root: c.root, Session: c.session, Limit: c.last, Last: true})
	if err != nil {
		return err
	}
	if len(entries) == 0 && !c.json {
		c.say("nothing of that is recorded")
		return nil
	}
	out := json.NewEncoder(c.out)
	out.SetEscapeHTML(false)
	for _, e := range entries {
		if c.json {
			err = out.Encode(e)
		} else {
			_, err = fmt.Fprintln(c.out, report.EntryLine(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyTrail follows the chain, and fails where it does not hold.
func (c *auditCommand) verifyTrail(ctx context.Context, trail record.Trail, known []record.Link) error {
	v, err := record.Verify(ctx, trail, known...)
	if err != nil {
		return err
	}
	if !c.json {
		report.Verification(c.out, v)
	} else if err := report.VerificationJSON(c.out, v); err != nil {
		return err
	}
	if v.Broken != nil {
		return fmt.Errorf("the trail is broken at entry %d: %s", v.Broken.Seq, v.Broken.Why)
	}
	return nil
}
