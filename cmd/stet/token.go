package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/gateway"
)

// Lifetimes of tokens, and for how long those are listed that are of no use any
// more.
const (
	usualLifetime = 90 * 24 * time.Hour
	listedFor     = 30 * 24 * time.Hour
)

func (p *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token COMMAND",
		Short: "Say who may use the gateway",
		Long: `Make, list and revoke the tokens by which agents, workspace hosts and people are
let in by "stet serve". A token is shown once, when it is made; what is kept is
its hash. Changes hold at once, also for connections that are open.`,
		Example: `# For a host: the machine beside the repository
stet token create laptop --scope host --workspace project

# For an agent, for a week
stet token create builder --scope agent --expires 7d

# For somebody who decides
stet token create desk --scope person`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.tokenCreate(), p.tokenList(), p.tokenRevoke(), p.tokenRotate())
	return cmd
}

func (p *program) tokenCreate() *cobra.Command {
	var n gateway.NewToken
	var expires string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print it",
		Long: `Make a token, and print it on standard output; it is not shown again. NAME is who
it is for: what a person decides, and what an agent does, stands under it in the
audit trail.

Scopes are agent (makes calls), host (has a workspace) and person (decides). An
agent's token should have no other: it would approve its own writes.`,
		Args: oneArg("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			now := time.Now()
			n.Name = args[0]
			if n.Expires, err = expiry(expires, now); err != nil {
				return usage(cmd, fmt.Errorf("--expires: %w", err))
			}
			var made gateway.Token
			var secret string
			err = p.changeTokens(func(t *gateway.Tokens) (err error) {
				made, secret, err = t.Create(n, now)
				if err != nil {
					return usage(cmd, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
			p.say("token %s for %s (%s), %s", made.ID, made.Name, strings.Join(made.Scopes, ", "), until(made.Expires))
			_, err = fmt.Fprintln(p.out, secret)
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&n.Scopes, "scope", nil, "agent, host or person; several if need be")
	f.StringVar(&n.Workspace, "workspace", "", "only for this workspace; not for a person, who decides about all")
	f.StringVar(&expires, "expires", "90d", "after so many days or hours (7d, 12h), on a date (2027-01-31), or never")
	return cmd
}

// expiry reads when something ends; the zero time is never.
func expiry(s string, now time.Time) (time.Time, error) {
	if s == "never" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 36500 {
			return now.AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil && t.After(now) {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("want days or hours (7d, 12h), a date to come (2027-01-31) or never, have %q", s)
}

func until(t time.Time) string {
	if t.IsZero() {
		return "without an end"
	}
	return "until " + t.Local().Format("2006-01-02 15:04")
}

func (p *program) tokenList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without what is secret",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := p.readTokens()
			if err != nil {
				return err
			}
			t.Sweep(listedFor, time.Now())
			for _, k := range t.Tokens {
				if asJSON {
					k.Hash = ""
					b, err := json.Marshal(k)
					if err != nil {
						return err
					}
					fmt.Fprintf(p.out, "%s\n", b)
					continue
				}
				state := until(k.Expires)
				switch {
				case !k.Revoked.IsZero():
					state = "revoked"
				case !k.Expires.IsZero() && !time.Now().Before(k.Expires):
					state = "expired"
				}
				workspace := ""
				if k.Workspace != "" {
					workspace = "  workspace " + k.Workspace
				}
				fmt.Fprintf(p.out, "%s  %-16s  %-18s  %s%s\n", k.ID, k.Name, strings.Join(k.Scopes, ","), state, workspace)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	return cmd
}

func (p *program) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TOKEN",
		Short: "End a token, by its id or its name",
		Args:  oneArg("TOKEN"),
		RunE: func(_ *cobra.Command, args []string) error {
			var revoked gateway.Token
			err := p.changeTokens(func(t *gateway.Tokens) (err error) {
				revoked, err = t.Revoke(args[0], time.Now())
				return err
			})
			if err == nil {
				p.say("token %s of %s is revoked", revoked.ID, revoked.Name)
			}
			return err
		},
	}
}

func (p *program) tokenRotate() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "rotate TOKEN",
		Short: "Make another token in place of one",
		Long: `Make another token like one, named by its id or its name, and print it. The old
one is good for as long as --grace says.`,
		Args: oneArg("TOKEN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 {
				return usage(cmd, errors.New("--grace: want a time of 0 or more"))
			}
			var made gateway.Token
			var secret string
			err := p.changeTokens(func(t *gateway.Tokens) (err error) {
				made, secret, err = t.Rotate(args[0], grace, time.Now())
				return err
			})
			if err != nil {
				return err
			}
			p.say("token %s for %s (%s), %s", made.ID, made.Name, strings.Join(made.Scopes, ", "), until(made.Expires))
			_, err = fmt.Fprintln(p.out, secret)
			return err
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", time.Hour, "how long the old one is good for")
	return cmd
}

// oneArg wants one argument.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || args[0] == "":
			return usage(cmd, fmt.Errorf("%s is missing", name))
		case len(args) > 1:
			return usage(cmd, fmt.Errorf("unexpected argument %q", args[1]))
		}
		return nil
	}
}
