package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// addHelp adds the help and completion commands. Unlike cobra's own, they fail for an unknown command.
func addHelp(root *cobra.Command) {
	help := &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show how a command is used",
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil {
				return usage(root, err)
			}
			if len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
	root.SetHelpCommand(help)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	indentExamples(root)
	groupCommands(root)
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Short = "Print a completion script for your shell"
			cmd.Args = nil
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknownCommand(cmd, args[0])
				}
				return cmd.Help()
			}
			for _, shell := range cmd.Commands() {
				shell.Args = noArgs
			}
		}
	}
}

// groups has the help's headings with their commands. Other commands come last.
var groups = []struct {
	title    string
	commands []string
}{
	{"Take back what an agent did, and answer its questions:", []string{"guard", "undo", "approve", "audit"}},
	{"Smaller requests for your agent:", []string{"wrap", "proxy", "savings", "demo", "model"}},
	{"Safe file tools:", []string{"mcp", "setup", "resume"}},
	{"stet's own agent:", []string{"chat", "run", "acp", "sessions"}},
	{"For several people or machines:", []string{"serve", "host", "token", "migrate"}},
	{"Measuring:", []string{"tokens", "cache", "bench"}},
	{"This installation:", []string{"doctor", "service", "config", "debug", "uninstall", "completion", "help", "version"}},
}

// otherNames are words by which people look for a command.
var otherNames = map[string][]string{
	"audit": {"log", "history"}, "doctor": {"status", "check"}, "savings": {"usage", "cost", "stats"}, "serve": {"web", "page"}, "setup": {"init", "install"},
	"uninstall": {"remove"},
}

func groupCommands(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = otherNames[cmd.Name()]
	}
	for _, g := range groups {
		for _, cmd := range root.Commands() {
			if !slices.Contains(g.commands, cmd.Name()) {
				continue
			}
			if !root.ContainsGroup(g.title) {
				root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
			}
			cmd.GroupID = g.title
		}
	}
}

func indentExamples(cmd *cobra.Command) {
	cmd.Example = indented(cmd.Example)
	for _, c := range cmd.Commands() {
		indentExamples(c)
	}
}

// indented indents the non-empty lines of text.
func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
