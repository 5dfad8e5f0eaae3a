package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
)

// proxyKeys are the keys that wrap, proxy and serve share.
var proxyKeys = []string{
	"policy", "keep", "lang", "placeholder", "project-root", "observe", "log", "record", "record-days",
	"upstream", "upstream-messages", "upstream-chat", "upstream-responses",
}

// drain is how long requests in flight may take after the proxy was told to
// end.
const drain = 30 * time.Second

// proxyCommand is stet proxy.
type proxyCommand struct {
	command
	beyond  bool
	allowed []string
}

func newProxy(p *program) *cobra.Command {
	c := &proxyCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "proxy [flags]",
		Short: "Stand between agents and their model",
		Long: `Listen on a loopback port and forward what agents ask to their model, without
what it has in view already or, under the policies adaptive and bold, does not
need any more. Agents find it through ANTHROPIC_BASE_URL and OPENAI_BASE_URL.

Stop it with Ctrl-C: requests in flight may end first. A second Ctrl-C cuts them
off, a third ends stet at once.`,
		Example: `# For agents started elsewhere
stet proxy

# In front of a local model
stet proxy --upstream http://127.0.0.1:11434/v1

# Change nothing, only report
stet proxy --observe`,
		Args: noArgs,
	}, &c.command, c.Run)
	f := cmd.Flags()
	config.AddFlags(f, append(proxyKeys, "listen")...)
	f.BoolVar(&c.beyond, "insecure-listen-beyond-loopback", false, "listen on an address that other machines can reach")
	f.StringSliceVar(&c.allowed, "allow-host", nil, "another name that requests may call the proxy by")
	return cmd
}

// listenHost checks HOST:PORT and returns the host.
func listenHost(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("cannot listen on %q: want HOST:PORT", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("cannot listen on %q: a port is a number from 0 to 65535", address)
	}
	return host, nil
}

func (c *proxyCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	host, err := listenHost(o.Listen)
	if err != nil {
		return c.usage(err)
	}
	if !loopback(host) && !c.beyond {
		return c.usage(fmt.Errorf("%s is not a loopback address: whoever can reach it could use it; "+
			"if that is what you want, add --insecure-listen-beyond-loopback", o.Listen))
	}
	if c.beyond && host != "" {
		c.allowed = append(c.allowed, host)
	}
	defer outliveReader()()
	signals := notify(endSignals)
	defer signal.Stop(signals)
	running, stop := untilSignal(ctx, signals)
	defer stop()
	listener, err := listen(running, o.Listen)
	if err != nil {
		return err
	}
	o.Route(config.Upstreams{})
	s, err := c.serve(running, o, listener, "", c.allowed)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	c.announce(s, o)
	select {
	case <-running.Done():
	case <-s.ended:
	}
	stop()
	slow := time.AfterFunc(time.Second, func() { c.say("waiting up to %s for requests in flight; Ctrl-C cuts them off", drain) })
	closing, stopClosing := lastCall(ctx, signals)
	defer stopClosing()
	err = s.close(closing, drain)
	slow.Stop()
	s.summary(o).Print(c.err)
	return err
}

func (c *proxyCommand) announce(s *server, o *config.Config) {
	mode := ""
	if o.Observe {
		mode = ", observing only"
	}
	c.say("listening on %s (policy %s%s)", s.base, o.Policy, mode)
	c.say("  ANTHROPIC_BASE_URL=%s", s.base)
	c.say("  OPENAI_BASE_URL=%s/v1", s.base)
	c.say("messages go to %s, chat to %s, responses to %s",
		cmp.Or(o.Upstream.Messages, config.MessagesURL), cmp.Or(o.Upstream.Chat, config.OpenAIURL), cmp.Or(o.Upstream.Responses, config.OpenAIURL))
}
