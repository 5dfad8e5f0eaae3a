package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/kept"
)

// showCommand is stet show.
type showCommand struct{ command }

func newShow(p *program) *cobra.Command {
	c := &showCommand{}
	return p.runs(&cobra.Command{
		Use:   "show ID [LINES]",
		Short: "Print the lines that were left out of an output",
		Long: `Print an output of a command from which stet left lines out. ID and LINES are in the
line that the model received in place of these lines. LINES is a number, or a range such
as 41-900; without LINES all lines are printed.

Such outputs are kept in the state directory, where only their owner can read them, for
as long as the key record-days says and up to 256 MB. With fold = false none are kept.`,
		Example: `stet show 7f3a9c1e5b20d486 41-900`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 || !kept.ID.MatchString(args[0]) {
				return usage(cmd, errors.New("want the ID of an output, 16 hexadecimal digits, and maybe a range of lines"))
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
	dir := c.foldDir()
	if dir == "" {
		return misconfigured(errors.New("there is no home directory (HOME) where such outputs would be kept"))
	}
	text, err := kept.New(dir, 0).Text(c.args[0])
	if errors.Is(err, kept.ErrGone) {
		return fmt.Errorf("the output %s is not kept any more: run the command that printed it again", c.args[0])
	}
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if first > len(lines) {
		return fmt.Errorf("the output %s has %d lines", c.args[0], len(lines))
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

// foldDir returns the directory of folded outputs' texts; "" if there is no home.
func (p *program) foldDir() string { return p.xdg("XDG_STATE_HOME", ".local/state", "folds") }

// keptFor returns how long records are kept.
func keptFor(o *config.Config) time.Duration { return time.Duration(o.RecordDays) * 24 * time.Hour }

// showWait is the time limit for trying stet show.
const showWait = 5 * time.Second

// folds returns the store for an agent's folded outputs; nil if outputs must not be folded. The agent must be able to run "stet
// show", which is tried in its environment.
func (p *program) folds(ctx context.Context, o *config.Config, env []string) *kept.Dir {
	if !o.Fold || o.Policy != trim.Bold || o.Observe {
		return nil
	}
	if err := p.tryShow(ctx, o, env); err != nil {
		p.say("long outputs are sent whole, because the agent could not see what is left out of them: %v", err)
		return nil
	}
	return kept.New(p.foldDir(), keptFor(o))
}

// tryShow lets the shells that agents use print a stored output.
func (p *program) tryShow(ctx context.Context, o *config.Config, env []string) error {
	dir := p.foldDir()
	if dir == "" {
		return errors.New("there is no home directory (HOME) to keep them in")
	}
	const text = "stet show works.\n"
	id := trim.FoldID(text)
	if err := kept.New(dir, keptFor(o)).Keep(id, text); err != nil {
		return err
	}
	shells := [][]string{{"sh", "-c"}}
	if _, err := exec.LookPath("bash"); err == nil {
		shells = append(shells, []string{"bash", "-lc"}) // a login shell may have another PATH; some agents use it
	}
	for _, shell := range shells {
		if err := p.tryShowIn(ctx, shell, id, text, env); err != nil {
			return err
		}
	}
	return nil
}

// tryShowIn lets one shell print the stored output.
func (p *program) tryShowIn(ctx context.Context, shell []string, id, text string, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, showWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], "stet show "+id)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, p.dir, time.Second
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	switch {
	case err != nil && said.Len() > 0:
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf(`"stet show" does not work in %s (%s); put the directory of this stet on the PATH there`, shell[0], line)
	case err != nil:
		return fmt.Errorf(`"stet show" does not work in %s: %w`, shell[0], err)
	case string(out) != text:
		return fmt.Errorf(`"stet show" in %s is another program, or has another state directory`, shell[0])
	}
	return nil
}
