package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/workspace"
)

// serverFlags are the flags of stet mcp that are no settings.
type serverFlags struct {
	root      string
	http      string // HOST:PORT; empty: standard input and output
	beyond    bool
	allowed   []string
	unwatched bool // --write-without-asking
	results   string
}

func (p *program) mcpCommand() *cobra.Command {
	var s serverFlags
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Give an agent safe file tools over MCP",
		Long: `Serve file tools to an MCP client, on standard input and output or, with --http,
on a loopback port. The tools reach nothing outside the directory --root. Reads
are done at once; a write waits until a person has seen it in another terminal,
with "stet approve". What is written is recorded ("stet audit") and can be taken
back ("stet undo").

Agents start it by themselves: see "stet setup".`,
		Example: `# What an agent's configuration says
stet mcp --root /home/me/project

# For clients that speak HTTP; the token is printed
stet mcp --http 127.0.0.1:4142

# Repeated reads of what was just shown become one line
stet mcp --dedupe`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runMCP(cmd, s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.root, "root", ".", "the directory that the tools work in")
	f.StringVar(&s.http, "http", "", "listen on HOST:PORT for streamable HTTP; port 0 takes a free one")
	config.AddFlags(f, "dedupe", "rate", "log")
	f.BoolVar(&s.unwatched, "write-without-asking", false, "ask nobody, for tests and throw-away trees; control files are refused")
	f.StringVar(&s.results, "results", "json", "the form of the results: json, or plain text")
	f.BoolVar(&s.beyond, "insecure-listen-beyond-loopback", false, "with --http: listen on an address that other machines can reach")
	f.StringSliceVar(&s.allowed, "allow-host", nil, "with --http: another name that requests may call the server by")
	return cmd
}

func (p *program) runMCP(cmd *cobra.Command, s serverFlags) error {
	root, err := p.workspaceDir(s.root)
	if err != nil {
		return usage(cmd, err)
	}
	c, err := p.config(cmd, root, root)
	if err != nil {
		return err
	}
	o, err := toolOptionsOf(c)
	if err != nil {
		return err
	}
	o.policy.Unattended = s.unwatched
	if s.results != "json" && s.results != "plain" {
		return usage(cmd, fmt.Errorf("--results: %q is not json or plain", s.results))
	}
	if s.http != "" {
		if err := s.checkHTTP(o); err != nil {
			return usage(cmd, err)
		}
	}
	running, stop := untilEnded(cmd.Context())
	defer stop()
	h, err := p.openHands(running, root, o)
	if err != nil {
		return err
	}
	h.plain = s.results == "plain"
	if s.http != "" {
		err = p.mcpOverHTTP(running, h, s)
	} else {
		err = p.mcpOverStdio(running, h)
	}
	stop()
	return errors.Join(err, h.close())
}

// workspaceDir is the directory that is meant by --root: an absolute path to a
// directory that is there and can be read.
func (p *program) workspaceDir(given string) (string, error) {
	if given == "" {
		return "", errors.New("--root: no directory is named; . is the working directory")
	}
	dir := p.absolute(given)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("--root: there is no directory %s", workspace.Quote(dir))
	case err != nil:
		return "", fmt.Errorf("--root: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("--root: %s is not a directory", workspace.Quote(dir))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("--root: %w", err)
	}
	if !utf8.ValidString(real) {
		return "", fmt.Errorf("--root: the name %s is not UTF-8: the audit trail, and so undo, could not name it", workspace.Quote(real))
	}
	opened, err := os.Open(real)
	if err != nil {
		return "", fmt.Errorf("--root: %w", err)
	}
	return real, opened.Close()
}

// mcpOverStdio serves one client until it closes standard input.
func (p *program) mcpOverStdio(ctx context.Context, h *hands) error {
	if isTerminal(p.in) {
		p.say("this speaks MCP on standard input, and waits for a client there; \"stet setup\" tells an agent to start it")
	}
	server, err := h.server(mcpConfig{})
	if err != nil {
		return err
	}
	err = server.Serve(ctx, p.in, p.out)
	if ctx.Err() != nil {
		err = nil // a signal ended it
	}
	return errors.Join(err, server.Close())
}
