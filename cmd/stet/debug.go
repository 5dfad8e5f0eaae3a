package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// debugCommand is stet debug bundle.
type debugCommand struct {
	command
	log string
}

// bundleLog is the limit of a bundle's log in bytes, from its end.
const bundleLog = 200 << 10

// secretLike matches keys, tokens, and passwords in URLs.
var secretLike = regexp.MustCompile(`\b(?:sk|pk|rk|xox[abp]|gh[pousr]|github_pat|glpat|stet)[-_][A-Za-z0-9_\-]{12,}|\bAIza[A-Za-z0-9_\-]{20,}|\bAKIA[A-Z0-9]{12,}|` +
	`\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-.]+|(?i:bearer) +[A-Za-z0-9._\-]{8,}|://[^/\s]*@`)

func newDebug(p *program) *cobra.Command {
	parent := group(&cobra.Command{Use: "debug", Short: "Collect what a bug report needs"})
	c := &debugCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "bundle [flags]",
		Short: "Print the text for a bug report",
		Long: `Collect what a bug report needs: versions, the configuration without secrets, what
"stet doctor" finds, and the end of a log. It has no content of sessions or files, no
key and no token. A log may name files. Read the text before you pass it on.`,
		Example: `stet debug bundle
stet debug bundle --log stet.log >report.txt`,
		Args: noArgs,
	}, &c.command, c.Run)
	cmd.Flags().StringVar(&c.log, "log", "", "add the end of this log file, which stet wrote")
	parent.AddCommand(cmd)
	return parent
}

// bundled is a file of a bundle.
type bundled struct {
	name, text string
}

func (c *debugCommand) Run(ctx context.Context) error {
	files, err := c.collect(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(c.out, "--- %s\n%s\n", f.name, strings.TrimRight(f.text, "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (c *debugCommand) collect(ctx context.Context) ([]bundled, error) {
	files := []bundled{{"version.txt", fmt.Sprintf("stet %s %s %s/%s\n%s\n",
		longVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.RFC3339))}}

	var settings, found strings.Builder
	if o, err := c.settings(""); err != nil {
		fmt.Fprintln(&settings, err)
	} else {
		for _, s := range o.Settings() {
			fmt.Fprintf(&settings, "%s = %s (%s)\n", s.Key, s.Value, s.From)
		}
	}
	d := &doctorCommand{command: c.command}
	d.look(ctx)
	d.print(&found)
	files = append(files, bundled{"configuration.txt", settings.String()}, bundled{"doctor.txt", found.String()})
	if c.log != "" {
		text, err := os.ReadFile(c.absolute(c.log))
		if err != nil {
			return nil, err
		}
		if len(text) > bundleLog { // only whole lines: a part of a key would not be recognised
			_, text, _ = bytes.Cut(text[len(text)-bundleLog:], []byte("\n"))
		}
		files = append(files, bundled{"log.txt", string(bytes.ToValidUTF8(text, []byte("?")))})
	}
	for i := range files {
		files[i].text = c.redacted(files[i].text)
	}
	return files, nil
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
