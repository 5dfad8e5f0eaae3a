package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
)

// runProxy is stet setup --proxy.
func (c *setupCommand) runProxy(ctx context.Context) error {
	s, o, err := c.serviceAsConfigured()
	if err != nil {
		return err
	}
	state := c.setupFile()
	if c.remove {
		done, err := c.machine().RemoveProxy(c.args[0], state, c.dry)
		if err != nil {
			return err
		}
		c.tell(done, "would be changed", "changed")
		return nil
	}
	address := s.Address()
	if address == "" {
		if !c.forced && !c.dry {
			return fmt.Errorf("no service starts the proxy, and %s cannot ask its model while none runs: run \"stet service install\" first, "+
				"or add --force if you start \"stet proxy\" yourself", c.args[0])
		}
		address = o.Listen
	}
	done, err := c.agentMachine(ctx, o).AddProxy(c.args[0], "http://"+address, state, c.dry, c.trusting(o))
	switch {
	case errors.Is(err, agents.ErrNoHome):
		return misconfigured(err)
	case err != nil:
		return err
	}
	c.tell(done, "would be written to", "written to")
	if s.Address() != "" {
		c.sayLogout(s)
	}
	c.sayHTTPProxy(done.Forward)
	if !c.dry {
		if o.Holdout == 0 {
			c.say("with holdout = 5 in stet's configuration one of five conversations goes without stet, and \"stet savings --live\" shows whether stet changes how the agent works")
		}
		c.say("\"stet savings\" shows what it saves, and \"stet setup --proxy %s --remove\" puts back what was there", c.args[0])
	}
	return nil
}

// trusting returns what makes the file of certificates for an agent that uses the forward proxy; nil: none uses it.
func (c *setupCommand) trusting(o *config.Config) func(own []byte) (string, error) {
	if o.Via == config.ViaBaseURL {
		return nil
	}
	return func(own []byte) (string, error) {
		dir, err := c.stateDir()
		if err != nil || c.dry {
			return proxyserver.TrustName(dir, c.args[0]), err
		}
		authority, err := c.authority()
		if err != nil {
			return "", err
		}
		return proxyserver.TrustFile(dir, c.args[0], authority, own)
	}
}

// sayHTTPProxy says what to do if agents would use an HTTP proxy to reach stet, or used one instead of stet.
func (c *setupCommand) sayHTTPProxy(forward bool) {
	m := c.machine()
	if forward {
		if own := cmp.Or(m.Getenv("HTTPS_PROXY"), m.Getenv("https_proxy")); own != "" {
			c.say("HTTPS_PROXY is set: the service goes through the one that was set when you ran \"stet service install\"; run that again if it is another one")
		}
		return
	}
	if cmp.Or(m.Getenv("HTTP_PROXY"), m.Getenv("http_proxy")) == "" || strings.Contains(cmp.Or(m.Getenv("NO_PROXY"), m.Getenv("no_proxy")), "127.0.0.1") {
		return
	}
	c.say("HTTP_PROXY is set, and the agent may ask that for stet's address: add 127.0.0.1 to NO_PROXY")
}

// tell prints the changes in an agent's configuration.
func (c *setupCommand) tell(done agents.Proxied, would, did string) {
	switch {
	case len(done.Changes) == 0:
		c.say("%s has nothing to change", done.File)
	case c.dry:
		c.say("%s %s:", would, done.File)
	default:
		c.say("%s %s:", did, done.File)
	}
	for _, change := range done.Changes {
		c.say("  %s", change)
	}
	for _, url := range done.Asked {
		c.say("the proxy sends its requests on to %s, as before", url)
	}
	for _, why := range done.Left {
		c.say("%s", why)
	}
	if done.Kept != "" {
		c.say("what it held is in %s", done.Kept)
	}
	if done.Note != "" {
		c.say("%s", done.Note)
	}
}
