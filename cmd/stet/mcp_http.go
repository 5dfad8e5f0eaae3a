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

	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/server/mcpserver"
)

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
