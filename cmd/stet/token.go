package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/tokenfile"
	"github.com/stet-dev/stet/server/gateway"
)

func newToken(p *program) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "token COMMAND",
		Short: "Manage the tokens of the gateway",
		Long: `Make, list and revoke the tokens of agents, workspace hosts and people for "stet
serve". A token is shown once, when it is made; stet keeps its hash. Changes take
effect at once, also on open connections.`,
		Example: `# For a host: the machine that has the repository
stet token create laptop --scope host --workspace project

# For an agent, for a week
stet token create builder --scope agent --expires 7d

# For a person who decides
stet token create desk --scope approver`,
	})
	cmd.AddCommand(newTokenCreate(p), newTokenList(p), newTokenRevoke(p))
	return cmd
}

// changeTokens changes the file of the tokens.
func (p *program) changeTokens(change func(*gateway.Tokens) error) error {
	state, err := p.stateDir()
	if err != nil {
		return err
	}
	return tokenfile.Change(state, change)
}

// tokenCreateCommand is stet token create.
type tokenCreateCommand struct {
	command
	token   gateway.NewToken
	expires string
}

func newTokenCreate(p *program) *cobra.Command {
	c := &tokenCreateCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print it",
		Long: `Make a token, and print it on standard output. It is not shown again. NAME says who
the token is for: the audit trail shows it next to what an agent does and what a person
decides.

The scopes are roles: agent makes calls, host has a workspace, approver answers questions,
and admin also sees and changes what is stored: sessions, requests, the audit trail, undo.
Give an agent's token no other scope: the agent could approve its own writes.`,
		Args: oneArg("who or what the token is for"),
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.StringSliceVar(&c.token.Scopes, "scope", nil, "role of the token: agent, host, approver or admin; more than one is allowed")
	f.StringVar(&c.token.Workspace, "workspace", "", "only for this workspace (default all); not for approver and admin, who always decide about all")
	f.StringVar(&c.expires, "expires", "90d", "when the token ends: after days or hours (7d, 12h), or never")
	return cmd
}

func (c *tokenCreateCommand) Run(context.Context) (err error) {
	now := time.Now()
	c.token.Name = c.args[0]
	if c.token.Expires, err = expiry(c.expires, now); err != nil {
		return c.usage(fmt.Errorf("--expires: %w", err))
	}
	var made gateway.Token
	var secret string
	err = c.changeTokens(func(t *gateway.Tokens) (err error) {
		if made, secret, err = t.Create(c.token, now); err != nil {
			return c.usage(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.say("token %s for %s (%s), %s", made.ID, made.Name, strings.Join(made.Scopes, ", "), until(made.Expires))
	_, err = fmt.Fprintln(c.out, secret) // only the secret goes to standard output
	return err
}

// expiry parses an expiry time; the zero time means never.
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
	return time.Time{}, fmt.Errorf("want days or hours (7d, 12h) or never, have %q", s)
}

func until(t time.Time) string {
	if t.IsZero() {
		return "without an end"
	}
	return "until " + t.Local().Format("2006-01-02 15:04")
}

// tokenListCommand is stet token list.
type tokenListCommand struct {
	command
	json bool
}

func newTokenList(p *program) *cobra.Command {
	c := &tokenListCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "list",
		Short: "List the tokens, without what is secret",
		Args:  noArgs,
	}, &c.command, c.Run)
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON, an object a line")
	return cmd
}

func (c *tokenListCommand) Run(context.Context) error {
	state, err := c.stateDir()
	if err != nil {
		return err
	}
	all, err := tokenfile.Read(state)
	if err != nil {
		return err
	}
	all.Sweep(tokenfile.ListedFor, time.Now())
	for _, t := range all.Tokens {
		if c.json {
			t.Hash = ""
			b, err := json.Marshal(t)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s\n", b)
			continue
		}
		state := until(t.Expires)
		switch {
		case !t.Revoked.IsZero():
			state = "revoked"
		case !t.Expires.IsZero() && !time.Now().Before(t.Expires):
			state = "expired"
		}
		workspace := ""
		if t.Workspace != "" {
			workspace = "  workspace " + t.Workspace
		}
		fmt.Fprintf(c.out, "%s  %-16s  %-18s  %s%s\n", t.ID, t.Name, strings.Join(t.Scopes, ","), state, workspace)
	}
	return nil
}

// tokenRevokeCommand is stet token revoke.
type tokenRevokeCommand struct{ command }

func newTokenRevoke(p *program) *cobra.Command {
	c := &tokenRevokeCommand{}
	return p.runs(&cobra.Command{
		Use:   "revoke TOKEN",
		Short: "End a token, by its id or its name",
		Args:  oneArg("a token, by its id or its name"),
	}, &c.command, c.Run)
}

func (c *tokenRevokeCommand) Run(context.Context) error {
	var revoked gateway.Token
	err := c.changeTokens(func(t *gateway.Tokens) (err error) {
		revoked, err = t.Revoke(c.args[0], time.Now())
		return err
	})
	if err == nil {
		c.say("token %s of %s is revoked", revoked.ID, revoked.Name)
	}
	return err
}
