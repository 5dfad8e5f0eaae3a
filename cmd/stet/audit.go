package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// auditCommand is stet audit.
type auditCommand struct {
	command
	root, session string
	last          uint32
	json, verify  bool
	known         []string
}

func newAudit(p *program) *cobra.Command {
	c := &auditCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "audit [flags]",
		Short: "Show what was done to files, and who decided it",
		Long: `Show the audit trail of the file tools: every call, and for every write the hashes of
the file before and after. The trail holds no content.

Each entry has the hash of the entry before it. --verify follows this chain, and ends
with exit code 1 if it is broken. The chain cannot show that its end was cut off, so
stet notes the newest entry in a file next to it. Someone who can change both files can
still forge the trail: keep the last entry that --verify prints in another place,
and pass it with --known.`,
		Example: `# The newest entries
stet audit

# Everything that was done in a workspace, for a program
stet audit --root . --last 0 --json

# Is it whole?
stet audit --verify --known 412:5f1e…`,
		Args: noArgs,
	}, &c.command, c.Run)
	cmd.AddCommand(newAuditAccept(p))
	f := cmd.Flags()
	f.StringVar(&c.root, "root", "", "only what was done in this workspace")
	f.StringVar(&c.session, "session", "", "only what this session did")
	f.Uint32Var(&c.last, "last", 50, "print the newest N entries; 0 is all")
	f.BoolVar(&c.json, "json", false, "print JSON, an object a line; with --verify one object")
	f.BoolVar(&c.verify, "verify", false, "check that no entry was changed or removed")
	f.StringSliceVar(&c.known, "known", nil, "with --verify: an entry that must be in the trail, as NUMBER:HASH")
	return cmd
}

func (c *auditCommand) Run(ctx context.Context) error {
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
	return c.withCalls(ctx, func(trail store.Store) error {
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
	entries, err := trail.Entries(ctx, record.TrailQuery{Root: c.root, Session: c.session, Limit: int(c.last), Last: true})
	if err != nil {
		return err
	}
	if len(entries) == 0 && !c.json {
		c.say("no entry matches")
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

// verifyTrail checks the chain, and fails if it is broken.
func (c *auditCommand) verifyTrail(ctx context.Context, trail record.Trail, known []record.Link) error {
	v, err := record.Verify(ctx, trail, known...)
	if err != nil {
		return err
	}
	if c.json {
		err = report.VerificationJSON(c.out, v)
	} else {
		report.Verification(c.out, v)
	}
	if err != nil {
		return err
	}
	if v.Broken != nil {
		return fmt.Errorf("the trail is broken at entry %d: %s", v.Broken.Seq, v.Broken.Why)
	}
	return nil
}

// auditAcceptCommand is stet audit accept.
type auditAcceptCommand struct{ command }

func newAuditAccept(p *program) *cobra.Command {
	c := &auditAcceptCommand{}
	return p.runs(&cobra.Command{
		Use:   "accept",
		Short: "Acknowledge that the audit trail has lost entries",
		Long: `Acknowledge that the audit trail has lost entries. stet knows the newest entry that it
wrote. If that entry is missing, because the file was removed, replaced, emptied or
shortened, stet writes nothing more to the trail, and the file tools refuse every call.
This command adds an entry that says what is missing, and that you know it. After that
the trail takes entries again. Restart servers that ran when the entries were lost.`,
		Example: `# What is missing?
stet audit --verify

# I know why
stet audit accept`,
		Args: noArgs,
	}, &c.command, c.Run)
}

func (c *auditAcceptCommand) Run(ctx context.Context) error {
	where, err := c.store()
	if err != nil {
		return err
	}
	trail, err := store.Open(ctx, where)
	if err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	e, err := trail.AcceptLoss(ctx, approval.LocalPerson())
	switch {
	case err != nil:
	case e.Seq == 0:
		c.say("nothing is missing")
	case e.Intent == 0:
		c.say("noted in entry %d; restart servers that are running", e.Seq)
	default:
		c.say("noted in entry %d: the entries up to %d are gone; restart servers that are running", e.Seq, e.Intent)
	}
	return errors.Join(err, trail.Close())
}
