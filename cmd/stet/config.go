package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// configCommand is stet config show, and stet config schema.
type configCommand struct {
	command
	origin bool
}

// shownKeys are the keys, besides proxyKeys, that are flags of a command.
var shownKeys = []string{
	"listen", "via", "rate", "dedupe", "model", "base-url", "api", "project-notes",
}

func newConfig(p *program) *cobra.Command {
	parent := group(&cobra.Command{
		Use:   "config",
		Short: "Show the configuration",
		Long: `Show the configuration that is in effect: what the files and the STET_* variables
set, and the defaults for the rest. docs/configuration.md describes each key.`,
	})
	show := &configCommand{}
	cmd := p.runs(&cobra.Command{
		Use: "show [flags]", Short: "Print each key and its value",
		Long: `Print each key and its value. The paths of URLs and the values of tables may be secrets,
and are not printed. Flags of other commands that set a key can be given too: the
values are then those that such a command would use.`,
		Example: `stet config show
stet config show --origin
stet config show --origin --keep 3 --no-record`, Args: noArgs,
	}, &show.command, show.show)
	cmd.Flags().BoolVar(&show.origin, "origin", false, "say where each value is from: a flag, a variable, a file, or the default")
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(set, slices.Concat(proxyKeys, shownKeys)...)
	set.VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // the help is about this command
	cmd.Flags().AddFlagSet(set)
	schema := &configCommand{}
	parent.AddCommand(cmd, p.runs(&cobra.Command{
		Use: "schema", Short: "Print a JSON Schema of the configuration file, for editors", Example: "stet config schema > stet.schema.json", Args: noArgs,
	}, &schema.command, schema.schema))
	return parent
}

func (c *configCommand) show(context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	for _, s := range o.Settings() {
		line := fmt.Sprintf("%-20s %s", s.Key, s.Value)
		if c.origin {
			line = fmt.Sprintf("%-20s %-40s %s", s.Key, s.Value, s.From)
		}
		if _, err := fmt.Fprintln(c.out, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *configCommand) schema(context.Context) error {
	text, err := config.Schema()
	if err == nil {
		_, err = fmt.Fprint(c.out, text)
	}
	return err
}
