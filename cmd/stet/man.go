package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand is stet man. It is hidden: only packaging uses it.
type manCommand struct{ command }

func newMan(p *program) *cobra.Command {
	c := &manCommand{}
	return p.runs(&cobra.Command{Use: "man", Short: "Print the manual page", Args: noArgs, Hidden: true}, &c.command, c.Run)
}

func (c *manCommand) Run(context.Context) error {
	root := c.cmd.Root()
	_, day := revision()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH STET 1 %q %q\n", day, "stet "+version())
	fmt.Fprintf(&b, ".SH NAME\nstet \\- %s\n.SH SYNOPSIS\n.B stet\n.I COMMAND\n[flags]\n.SH DESCRIPTION\n%s", roff(root.Short), roffText(root.Long))
	manExample(&b, root)
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		manOf(&b, cmd)
	}
	_, err := fmt.Fprint(c.out, b.String())
	return err
}

// manOf adds a command, and those below it. Cobra sorts them by name.
func manOf(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.IsAvailableCommand() {
		return
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(b, ".SS %s\n%s", roff(cmd.UseLine()), roffText(text))
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s", roff("--"+f.Name), roff(value), roffText(about))
	})
	manExample(b, cmd)
	for _, sub := range cmd.Commands() {
		manOf(b, sub)
	}
}

// manExample adds the example from the help without its indentation.
func manExample(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Example == "" {
		return
	}
	b.WriteString(".PP\n.RS 4\n.nf\n")
	for line := range strings.Lines(cmd.Example + "\n") {
		b.WriteString(roffText(strings.TrimPrefix(line, "  ")))
	}
	b.WriteString(".fi\n.RE\n")
}

// roffText returns text as lines of a manual page; an empty line begins a paragraph.
func roffText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "":
			b.WriteString(".PP\n")
		case strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'"):
			b.WriteString(`\&` + roff(line) + "\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	return b.String()
}

// roff escapes a text so that it contains no roff instruction.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}
