package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// Each flag that sets a key is also a flag of stet config show.
func TestConfigShowFlags(t *testing.T) {
	root := (&program{}).root()
	show, _, err := root.Find([]string{"config", "show"})
	if err != nil {
		t.Fatal(err)
	}
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			key := pflag.NewFlagSet("", pflag.ContinueOnError)
			config.AddFlags(key, strings.TrimPrefix(f.Name, "no-"))
			if key.HasFlags() && show.Flags().Lookup(f.Name) == nil {
				t.Errorf("--%s of %s is unknown", f.Name, cmd.CommandPath())
			}
		})
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(root)
}
