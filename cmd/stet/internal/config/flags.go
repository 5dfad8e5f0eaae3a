package config

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddFlags adds the flags of these keys. [Load] reads them.
func AddFlags(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		k, _ := keyOf(name)
		switch d := k.Default.(type) {
		case string:
			f.String(name, d, k.Help)
		case int:
			f.Int(name, d, k.Help)
		case bool:
			if k.negated() {
				f.Bool("no-"+name, false, k.Help)
			} else {
				f.Bool(name, d, k.Help)
			}
		}
	}
}

// CompleteFlags adds shell completion for a command's flags with a fixed set of values.
func CompleteFlags(cmd *cobra.Command) {
	for _, k := range keys {
		if f := cmd.Flags().Lookup(k.Name); f != nil && f.Value.Type() == "string" && k.Values != nil {
			_ = cmd.RegisterFlagCompletionFunc(k.Name, cobra.FixedCompletions(k.Values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}
