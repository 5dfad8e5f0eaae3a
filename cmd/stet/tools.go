package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// toolsCommand is stet tools.
type toolsCommand struct {
	command
	days int
	json bool
}

func newTools(p *program) *cobra.Command {
	c := &toolsCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "tools [flags]",
		Short: "Show what the descriptions of tools cost, and which tools are called",
		Long: `Show for each tool that agents offered to models through stet: the tokens that its
description takes in a request, in how many requests it was, the tokens in all of
them, and how often it was called. Tools of an MCP server (mcp__SERVER__TOOL) are
listed together. A tool that is never called costs its tokens in every request: remove it,
or its server, from the agent's configuration.

The figures are of what the proxy has recorded: names and counts, no content. Calls are
counted in the requests of each conversation that was active in this time; after an
agent has compacted a conversation, there may have been more. A tool that the model has to
search for first takes 0 tokens.`,
		Example: `stet tools
stet tools --days 7
stet tools --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.days < 0 {
				return usage(cmd, fmt.Errorf("--days: want a number of days, 0 is all, not %d", c.days))
			}
			return cobra.NoArgs(cmd, args)
		},
	}, &c.command, c.Run)
	cmd.Flags().IntVar(&c.days, "days", 30, "use what was recorded in the last N days; 0 is all")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *toolsCommand) Run(ctx context.Context) error {
	var since time.Time
	if c.days > 0 {
		since = time.Now().AddDate(0, 0, -c.days)
	}
	tools, err := c.recorded(ctx, since)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(tools)
	}
	if len(tools.Agents) == 0 {
		return errors.New("no recorded request offered tools in this time")
	}
	tools.Print(c.screen(c.out), c.days)
	return nil
}

// recorded counts the tools in the proxy's record since a time.
func (c *toolsCommand) recorded(ctx context.Context, since time.Time) (*report.Tools, error) {
	where, err := c.storeThere()
	if err != nil {
		return nil, errors.New("nothing is recorded yet: run an agent with stet wrap, or through stet proxy")
	}
	opened, err := store.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	requests, err := opened.Requests(ctx, record.Query{From: since})
	sets, calls, toolsErr := opened.Tools(ctx, since)
	if err = errors.Join(err, toolsErr, opened.Close()); err != nil {
		return nil, err
	}
	return report.ToolsOf(requests, sets, calls), nil
}
