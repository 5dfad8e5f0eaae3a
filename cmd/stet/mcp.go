package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/server/mcpserver"
)

// mcpCommand is stet mcp.
type mcpCommand struct {
	command
	root      string
	http      string // HOST:PORT; empty: standard input and output
	beyond    bool
	allowed   []string
	unwatched bool // --write-without-asking
	results   string
}

func newMCP(p *program) *cobra.Command {
	c := &mcpCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "mcp [flags]",
		Short: "Give an agent safe file tools over MCP",
		Long: `Serve file tools to an MCP client, on standard input and output or, with --http,
on a loopback port. The tools read and write nothing outside the directory --root.
Reads are done at once. A write waits until a person has approved it in another
terminal, with "stet approve". Writes are recorded ("stet audit") and can be taken back
("stet undo").

Agents start this command themselves; "stet setup" configures them.`,
		Example: `# What an agent's configuration says
stet mcp --root /home/me/project

# For clients that speak HTTP; the token is printed
stet mcp --http 127.0.0.1:4142`,
		Args: noArgs,
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.StringVar(&c.root, "root", ".", "the directory that the tools work in")
	f.StringVar(&c.http, "http", "", "serve streamable HTTP on HOST:PORT instead of standard input and output; port 0 takes a free port")
	config.AddFlags(f, "dedupe", "rate", "log", "store")
	f.BoolVar(&c.unwatched, "write-without-asking", false, "write without asking, for tests and temporary directories; control files (which make something run) are refused")
	f.StringVar(&c.results, "results", "json", "form of the results: json, or plain (text without JSON)")
	f.BoolVar(&c.beyond, "insecure-listen-beyond-loopback", false, "with --http: also listen on an address that other machines can reach")
	addHosts(f, &c.allowed, "with --http: ")
	return cmd
}

func (c *mcpCommand) Run(ctx context.Context) error {
	root, err := c.servedDir(c.root)
	if err != nil {
		return err
	}
	settings, err := c.config(c.cmd, root, root)
	if err != nil {
		return err
	}
	o, err := c.toolOptions(settings)
	if err != nil {
		return err
	}
	o.Policy.Unattended = c.unwatched
	o.Seen = c.seenByAgent(settings.Listen)
	if c.results != "json" && c.results != "plain" {
		return c.usage(fmt.Errorf("--results: %q is not json or plain", c.results))
	}
	if c.http != "" {
		if err := c.checkHTTP(); err != nil {
			return c.usage(err)
		}
	}
	running, stop := process.UntilEnded(ctx)
	defer stop()
	h, err := toolset.Open(running, root, o)
	if err != nil {
		return err
	}
	h.Plain = c.results == "plain"
	if c.http != "" {
		err = c.overHTTP(running, h)
	} else {
		err = c.overStdio(running, h)
	}
	stop()
	return errors.Join(err, h.Close())
}

// overStdio serves one client until it closes standard input.
func (c *mcpCommand) overStdio(ctx context.Context, h *toolset.Set) error {
	if isTerminal(c.in) {
		c.say("stet mcp waits for an MCP client on standard input; an agent starts it (see \"stet setup\")")
	}
	server, err := h.Server(mcpserver.HTTP{})
	if err != nil {
		return err
	}
	err = server.Serve(ctx, c.in, c.out)
	if ctx.Err() != nil {
		err = nil // a signal ended it
	}
	return errors.Join(err, server.Close())
}

// leastToken is the minimum length of a token.
const leastToken = 16

// idle is how long a connection without a request is kept open.
const idle = 5 * time.Minute

// checkHTTP validates the flags for HTTP.
func (c *mcpCommand) checkHTTP() error {
	host, err := proxyserver.Host(c.http)
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	if !proxyserver.Loopback(host) && !c.beyond {
		return fmt.Errorf("--http: %s is not a loopback address: everyone who can reach it and knows the token can change your files; "+
			"if that is what you want, add --insecure-listen-beyond-loopback", c.http)
	}
	if c.beyond && host != "" {
		c.allowed = append(c.allowed, host)
	}
	return nil
}

// overHTTP serves clients on a port until ctx ends.
func (c *mcpCommand) overHTTP(ctx context.Context, h *toolset.Set) error {
	token := c.getenv("STET_TOKEN")
	made := token == ""
	if made {
		token = rand.Text()
	}
	if len(token) < leastToken {
		return misconfigured(fmt.Errorf("STET_TOKEN: a token has %d characters or more", leastToken))
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return misconfigured(errors.New("STET_TOKEN: the token has a space or a character that is not ASCII: no request can carry it"))
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.http)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen on %s: the port is in use: choose another with --http", c.http)
	case err != nil:
		return fmt.Errorf("listen on %s: %w", c.http, err)
	}
	server, err := h.Server(mcpserver.HTTP{Tokens: []string{token}, AllowedHosts: c.allowed})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	front := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: idle, MaxHeaderBytes: 64 << 10}
	c.say("listening on http://%s/mcp", listener.Addr())
	if made {
		c.say("  Authorization: Bearer %s", token)
	}
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(listener) }()
	select {
	case err = <-ended:
		err = fmt.Errorf("listen on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
		err = nil
	}
	err = errors.Join(err, server.Close(), front.Close())
	if ctx.Err() != nil {
		<-ended
	}
	return err
}
