package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// debugCommand is stet debug bundle.
type debugCommand struct{ command }

// secretLike matches keys, tokens, and passwords in URLs.
var secretLike = regexp.MustCompile(`\b(?:sk|pk|rk|xox[abp]|gh[pousr]|github_pat|glpat|stet)[-_][A-Za-z0-9_\-]{12,}|\bAIza[A-Za-z0-9_\-]{20,}|\bAKIA[A-Z0-9]{12,}|` +
	`\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-.]+|(?i:bearer) +[A-Za-z0-9._\-]{8,}|://[^/\s]*@`)

func newDebug(p *program) *cobra.Command {
	parent := group(&cobra.Command{Use: "debug", Short: "Collect what a bug report needs"})
	c := &debugCommand{}
	parent.AddCommand(p.runs(&cobra.Command{
		Use:   "bundle",
		Short: "Print the text for a bug report",
		Long: `Collect what a bug report needs: versions, the configuration without secrets, and what
"stet doctor" finds. It has no content of sessions or files, no key and no token. Read
the text before you pass it on.`,
		Example: "stet debug bundle >report.txt",
		Args:    noArgs,
	}, &c.command, c.Run))
	return parent
}

func (c *debugCommand) Run(ctx context.Context) error {
	var b strings.Builder
	fmt.Fprintf(&b, "--- version.txt\nstet %s %s %s/%s\n%s\n--- configuration.txt\n",
		longVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.RFC3339))
	if o, err := c.settings(""); err != nil {
		fmt.Fprintln(&b, err)
	} else {
		for _, s := range o.Settings() {
			fmt.Fprintf(&b, "%s = %s (%s)\n", s.Key, s.Value, s.From)
		}
	}
	fmt.Fprintln(&b, "--- doctor.txt")
	d := &doctorCommand{command: c.command}
	d.look(ctx)
	d.print(&b)
	_, err := io.WriteString(c.out, c.redacted(b.String()))
	return err
}

// redacted removes from text the values of environment variables that are named like keys, tokens or passwords, text that looks
// like a secret, and the home directory.
func (c *debugCommand) redacted(text string) string {
	var secrets []string
	for _, v := range c.env {
		name, value, _ := strings.Cut(v, "=")
		isSecret := func(word string) bool { return strings.Contains(strings.ToUpper(name), word) }
		if len(value) >= 4 && slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTHORIZATION"}, isSecret) {
			secrets = append(secrets, value)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one secret may be the beginning of another
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	if home := c.home(); len(home) > 1 {
		text = strings.ReplaceAll(text, home, "~")
	}
	return secretLike.ReplaceAllString(text, "[redacted]")
}
