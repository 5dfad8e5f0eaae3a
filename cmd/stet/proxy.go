package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/foldstore"
	"github.com/stet-dev/stet/internal/process"
	"github.com/stet-dev/stet/internal/proxyserver"
)

// proxyKeys are the keys that wrap, proxy and serve share.
var proxyKeys = []string{
	"policy", "keep", "lang", "placeholder", "project-root", "observe", "threads", "bound", "clear", "log", "record", "record-days", "store",
	"upstream", "upstream-messages", "upstream-chat", "upstream-responses", "upstream-gemini",
	"upstream-vertex", "upstream-azure", "upstream-bedrock",
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
		Short: "Serve the proxy, for agents that are started elsewhere",
		Long: `Listen on a loopback port and send the requests of agents on to their model, without
text that the model has in view already or, under the policies adaptive and bold,
does not need any more. Agents find the proxy through ANTHROPIC_BASE_URL,
OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL.

The proxy also serves the paths of Vertex AI and Azure (ANTHROPIC_VERTEX_BASE_URL,
ANTHROPIC_FOUNDRY_BASE_URL with /anthropic after the address, AZURE_OPENAI_ENDPOINT);
--upstream-azure names the resource. Requests to Bedrock pass unchanged.

Ctrl-C stops it: running requests may end first. A second Ctrl-C ends these
requests, and a third one ends stet at once.`,
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

func (c *proxyCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	listener, err := proxyserver.Inherited() // from systemd
	if err != nil {
		return err
	}
	if listener != nil {
		o.Listen = listener.Addr().String()
	}
	host, err := proxyserver.Host(o.Listen)
	if err != nil {
		return c.usage(err)
	}
	if !proxyserver.Loopback(host) && !c.beyond {
		return c.usage(fmt.Errorf("%s is not a loopback address: everyone who can reach it can use it; "+
			"if that is what you want, add --insecure-listen-beyond-loopback", o.Listen))
	}
	if c.beyond && host != "" {
		c.allowed = append(c.allowed, host)
	}
	defer process.OutliveReader()()
	signals := process.Notify(process.EndSignals)
	defer signal.Stop(signals)
	running, stop := process.UntilSignal(ctx, signals)
	defer stop()
	if listener == nil {
		if listener, err = proxyserver.Listen(running, o.Listen); err != nil {
			return err
		}
	}
	o.Route(config.Upstreams{})
	s, err := c.startProxy(running, o, listener, "", c.allowed, nil)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	c.announce(s, o)
	select {
	case <-running.Done():
	case <-s.Ended:
	}
	stop()
	slow := time.AfterFunc(time.Second, func() { c.say("waiting up to %s for requests that are running; Ctrl-C ends them", drain) })
	closing, stopClosing := process.LastCall(ctx, signals)
	defer stopClosing()
	err = s.Close(closing, drain)
	slow.Stop()
	s.Summary().Print(c.err)
	return err
}

// startProxy starts the proxy on listener. folds is where outputs are kept that are folded; nil: none are.
func (p *program) startProxy(
	ctx context.Context, o *config.Config, listener net.Listener, root string, hosts []string, folds *foldstore.Dir,
) (*proxyserver.Server, error) {
	proxyMemory.keep()
	s, err := p.openProxy(ctx, o, root, hosts, folds)
	if err != nil {
		return nil, err
	}
	s.Serve(listener)
	return s, nil
}

// openProxy makes a proxy that does not listen yet.
func (p *program) openProxy(ctx context.Context, o *config.Config, root string, hosts []string, folds *foldstore.Dir) (*proxyserver.Server, error) {
	c, err := p.proxyConfig(o, root, hosts)
	if err != nil {
		return nil, err
	}
	if folds != nil {
		c.Folds = folds
	}
	s, err := proxyserver.Open(ctx, c)
	if err != nil {
		return nil, misconfigured(err)
	}
	return s, nil
}

// proxyConfig is what a proxy goes by. root is the workspace, empty if it is to be
// learned from the requests.
func (p *program) proxyConfig(o *config.Config, root string, hosts []string) (proxyserver.Config, error) {
	models, err := p.models(o.Prices)
	return proxyserver.Config{
		Settings: o, Root: root, Hosts: hosts, Store: p.storeOf(o), Log: p.logFile(o.Log), Models: models, Say: p.say,
	}, err
}

func (c *proxyCommand) announce(s *proxyserver.Server, o *config.Config) {
	mode := ""
	if o.Observe {
		mode = ", observing only"
	}
	c.say("listening on %s (policy %s%s)", s.Base, o.Policy, mode)
	c.say("  ANTHROPIC_BASE_URL=%s", s.Base)
	c.say("  OPENAI_BASE_URL=%s/v1", s.Base)
	c.say("  GOOGLE_GEMINI_BASE_URL=%s", s.Base)
	c.say("messages go to %s, chat to %s, responses to %s, gemini to %s",
		cmp.Or(o.Upstream.Messages, config.MessagesURL), cmp.Or(o.Upstream.Chat, config.OpenAIURL), cmp.Or(o.Upstream.Responses, config.OpenAIURL),
		cmp.Or(o.Upstream.Gemini, config.GeminiURL))
}
