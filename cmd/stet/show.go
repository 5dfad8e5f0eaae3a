package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/trim/kept"
)

// showCommand is stet show.
type showCommand struct{ command }

func newShow(p *program) *cobra.Command {
	c := &showCommand{}
	return p.runs(&cobra.Command{
		Use:   "show ID [LINES]",
		Short: "Print a text that was left out of a request and is kept on this machine",
		Long: `Print a text that was left out of a request and is kept on this machine. ID is in the line
that the model received in place of the text. LINES is a number, or a range such as
41-900; without LINES all lines are printed.

Such texts are kept in the state directory, where only their owner can read them, for as
long as the key record-days says and up to 256 MB.`,
		Hidden:  true, // no rule keeps texts now
		Example: `stet show 7f3a9c1e5b20d486 41-900`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 || !kept.ID.MatchString(args[0]) {
				return usage(cmd, errors.New("want the ID of a text, 16 hexadecimal digits, and maybe a range of lines"))
			}
			return nil
		},
	}, &c.command, c.Run)
}

func (c *showCommand) Run(context.Context) error {
	first, last, err := lineRange(c.arg(1))
	if err != nil {
		return c.usage(err)
	}
	dir := c.xdg("XDG_STATE_HOME", ".local/state", "texts")
	if dir == "" {
		return misconfigured(errors.New("there is no home directory (HOME) where such texts would be kept"))
	}
	text, err := kept.New(dir, 0).Text(c.args[0])
	if errors.Is(err, kept.ErrGone) {
		return fmt.Errorf("the text %s is not kept any more: ask for it as the first time", c.args[0])
	}
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if first > len(lines) {
		return fmt.Errorf("the text %s has %d lines", c.args[0], len(lines))
	}
	_, err = io.WriteString(c.out, strings.Join(lines[first-1:min(last, len(lines))], ""))
	return err
}

// lineRange parses a range of lines, both inclusive. Empty means all.
func lineRange(s string) (first, last int, err error) {
	if s == "" {
		return 1, int(^uint(0) >> 1), nil
	}
	from, to, ranged := strings.Cut(s, "-")
	first, err = strconv.Atoi(from)
	last = first
	if err == nil && ranged {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%q is not a range of lines: want a number, or two such as 41-900", s)
	}
	return first, last, nil
}
