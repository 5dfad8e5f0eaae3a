package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// configCommand is stet config show, and stet config schema.
type configCommand struct {
	command
	origin bool
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
and are not printed.`,
		Example: `stet config show
stet config show --origin`, Args: noArgs,
	}, &show.command, show.show)
	cmd.Flags().BoolVar(&show.origin, "origin", false, "say where each value is from: a variable, a file, or the default")
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
