package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/cmd/stet/internal/localagent"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/site"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/session"
)

// serveCommand is stet serve.
type serveCommand struct {
	command
	root      string
	name      string // of the workspace, at the gateway
	none      bool   // there is no local workspace
	cert, key string // files for TLS; both or none
	clientCA  string // file
	beyond    bool
	allowed   []string
	trusted   []string     // addresses of trusted proxies
	proxies   site.Proxies // the same, parsed
	demo      bool
	lasts     time.Duration // 0: until it is asked to end
	memory    memory
	bus       busFlags
	accounts  site.Accounts
}

func newServe(p *program) *cobra.Command {
	c := &serveCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve everything on one port: gateway, file tools, proxy, web page",
		Long: `Listen on one port for agents, for the hosts of workspaces elsewhere ("stet host"),
and for people, who decide in a browser what is written:

  /         the web page
  /mcp      file tools of the workspace --root, over MCP;
            at /mcp/WORKSPACE those of a workspace elsewhere
  /v1/      the gateway: WebSockets at /v1/connect, plain HTTP (/v1/openapi.json)
  /p/TOKEN  the proxy: the base URL for agents
  /healthz  ok when the process answers; /readyz: ok when it can work, else 503 and why

Everything else needs a token. stet makes two at each start: one for you, in the link that
it prints, and one for agents on this machine. "stet token" makes tokens that last.

Ctrl-C stops it: running calls and requests may end first. A second Ctrl-C ends them.`,
		Example: `# For this machine
stet serve --root /home/me/project

# A gateway for workspaces elsewhere
stet serve --no-workspace --listen 0.0.0.0:4141 --insecure-listen-beyond-loopback \
    --allow-host gateway.example.org --tls-cert cert.pem --tls-key key.pem

# Look around, without a key: sessions, savings, and writes to decide on
stet serve --demo`,
		Args: noArgs,
	}, &c.command, c.Run)
	flags := cmd.Flags()
	flags.StringVar(&c.root, "root", ".", "the directory that the tools work in")
	flags.StringVar(&c.name, "workspace", "", "name of the workspace at the gateway (default the name of the directory)")
	flags.BoolVar(&c.none, "no-workspace", false, "serve no workspace of this machine, only those of hosts elsewhere")
	flags.StringVar(&c.cert, "tls-cert", "", "PEM file of the server's certificate; with it the server speaks TLS")
	flags.StringVar(&c.key, "tls-key", "", "PEM file of the key of --tls-cert")
	flags.StringVar(&c.clientCA, "client-ca", "", "PEM file of certificates: a client with a certificate that one of them signed is an agent or a host, and needs no token")
	c.memory.add(flags)
	c.bus.add(flags)
	addAccounts(flags, &c.accounts)
	config.AddFlags(flags, append(proxyKeys, "listen", "rate", "model", "base-url", "api")...)
	flags.Lookup("model").Usage = "the model that writes summaries of sessions on the web page; \"scripted\" needs no key"
	flags.Lookup("base-url").Usage = "base URL of that model's endpoint (default the provider's own)"
	flags.BoolVar(&c.beyond, "insecure-listen-beyond-loopback", false, "listen on an address that other machines can reach")
	flags.BoolVar(&c.demo, "demo", false, "show example data: a workspace, and an agent with a scripted model")
	flags.DurationVar(&c.lasts, "for", 0, "stop after this time, such as 30s or 5m; 0 is never")
	addHosts(flags, &c.allowed, "")
	flags.StringSliceVar(&c.trusted, "trust-proxy", nil, "address or network (10.0.0.0/8) of a proxy in front of this server, whose X-Forwarded-For is believed")
	return cmd
}

func (c *serveCommand) Run(ctx context.Context) (err error) {
	var show *demo.Show
	if c.demo {
		if show, err = c.openShow(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, show.Close()) }()
	}
	root := c.dir
	if !c.none {
		if root, err = c.servedDir(c.root); err != nil {
			return err
		}
		if c.name, err = site.WorkspaceName(c.name, root); err != nil {
			return c.usage(err)
		}
	}
	o, err := c.settings(root)
	if err != nil {
		return err
	}
	if err := c.check(o.Listen); err != nil {
		return c.usage(err)
	}
	defer process.OutliveReader()()
	c.memory.keep()
	signals := process.Notify(process.EndSignals)
	defer signal.Stop(signals)
	running, stop := process.UntilSignal(ctx, signals)
	defer stop()
	listener, err := proxyserver.Listen(running, o.Listen)
	if err != nil && c.demo && !c.cmd.Flags().Changed("listen") {
		listener, err = proxyserver.Listen(running, "127.0.0.1:0") // any port is fine for a demo
	}
	if err != nil {
		return err
	}
	o.Route(llm.Upstreams{})
	state, err := c.stateDir()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	bus, closeBus, err := c.bus.open(running, state, c.say)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, closeBus()) }()
	s, err := c.open(running, o, root, bus)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.Server.Serve(listener)
	if show != nil {
		err = show.Play(running, c.forShow(s, show.Workspace()))
	}
	if err == nil {
		if show != nil {
			c.say("this is a demo, with a scripted model: the page has a write to decide on, a session, and what was saved")
			c.say("its files are in %s until it ends; Ctrl-C ends it", show.Dir)
		}
		c.report(s)
		c.wait(running, s)
	} else if running.Err() != nil {
		err = nil // it was asked to end before it was ready
	}
	stop()
	if show != nil {
		show.End()
	}
	return errors.Join(err, c.closeSite(ctx, s, signals))
}

// openShow opens the demo, and makes the command use the demo's workspace and environment.
func (c *serveCommand) openShow() (*demo.Show, error) {
	show, err := demo.Open()
	if err != nil {
		return nil, err
	}
	there := *c.program
	there.dir = show.Workspace()
	there.env = append(slices.Clone(there.env), show.Environment()...)
	c.program = &there
	return show, nil
}

// forShow returns what the demo's agent uses.
func (c *serveCommand) forShow(s *site.Site, dir string) demo.Site {
	return demo.Site{
		ModelURL: s.Server.Base + "/p/" + url.PathEscape(s.AgentToken), Handler: s.Tools.Handler, Files: s.Tools.Files, Queue: s.Queue,
		Sessions: s.Sessions, Variables: localagent.Variables(dir), Log: s.Log, Say: c.say,
	}
}

// open makes everything that the port serves.
func (c *serveCommand) open(ctx context.Context, o *config.Config, root string, bus gateway.Bus) (*site.Site, error) {
	tools, err := c.toolOptions(o)
	if err != nil {
		return nil, err
	}
	forwarding, err := c.proxyConfig(o, proxyserver.Config{Hosts: c.allowed})
	if err != nil {
		return nil, err
	}
	all := site.Config{
		Settings: o, Proxy: forwarding, Tools: tools, Root: root, Name: c.name, NoWorkspace: c.none, Hosts: c.allowed, Proxies: c.proxies,
		Calls: c.memory.part(callShare), Answers: c.memory.part(answerShare), QuestionBytes: c.memory.part(questionShare).Limit(),
		Held: limits.NewHeld(c.memory.part(heldShare).Limit()),
		Bus:  bus, Version: version(), Compact: c.compacting, TakeBack: c.takeBack,
	}
	if c.cert != "" {
		all.Cert, all.Key = c.absolute(c.cert), c.absolute(c.key)
	}
	if c.clientCA != "" {
		all.ClientCA = c.absolute(c.clientCA)
	}
	if all.Accounts = c.accounts; c.accounts.Issuer != "" {
		all.Accounts.SecretFile = c.absolute(c.accounts.SecretFile)
	}
	return site.Open(ctx, all)
}

// compacting returns a function that compacts a session with the configured model. It returns nil if there is no model; if the
// flags name a model, that is an error.
func (c *serveCommand) compacting(store session.Store) (func(context.Context, string) (string, error), error) {
	if err := c.modelReady(); err != nil {
		if c.cmd.Flags().Changed("model") {
			return nil, err
		}
		return nil, nil
	}
	return func(ctx context.Context, id string) (next string, err error) {
		info, err := session.Find(ctx, store, id)
		if err != nil {
			return "", err
		}
		h, err := c.openAgent(ctx, agentFlags{root: info.Dir, named: true})
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		h.Agent.Store = store // so that the page gets the session's events
		talk, err := h.Resume(ctx, info.ID)
		if err != nil {
			return "", err
		}
		if err := talk.Compact(ctx, "", nil); err != nil {
			return "", err
		}
		return talk.ID(), nil
	}, nil
}

// wait waits until the server should end: on a signal, an error, or after a time.
func (c *serveCommand) wait(running context.Context, s *site.Site) {
	var over <-chan time.Time
	if c.lasts > 0 {
		over = time.After(c.lasts)
	}
	select {
	case <-running.Done():
	case <-s.Server.Ended:
	case <-over:
	}
}

// closeSite lets running work end, until a second signal cuts it off.
func (c *serveCommand) closeSite(ctx context.Context, s *site.Site, signals chan os.Signal) error {
	slow := time.AfterFunc(time.Second, func() {
		c.say("waiting up to %s for calls and requests that are running; Ctrl-C ends them", site.Drain)
	})
	closing, stopClosing := process.LastCall(context.WithoutCancel(ctx), signals)
	defer stopClosing()
	defer slow.Stop()
	return s.Close(closing)
}

// check says what is wrong with the flags.
func (c *serveCommand) check(address string) error {
	host, err := proxyserver.Host(address)
	if err == nil {
		err = c.memory.check()
	}
	if err == nil {
		err = c.bus.check(c.beyond)
	}
	if err == nil {
		err = c.accounts.Check()
	}
	if err == nil {
		c.proxies, err = site.ParseProxies(c.trusted)
	}
	switch {
	case err != nil:
		return err
	case !proxyserver.Loopback(host) && !c.beyond:
		return fmt.Errorf("%s is not a loopback address: everyone who can reach it and knows a token can use it; "+
			"if that is what you want, add --insecure-listen-beyond-loopback", address)
	case (c.cert == "") != (c.key == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case c.clientCA != "" && c.cert == "":
		return errors.New("--client-ca needs --tls-cert and --tls-key: certificates of clients come over TLS, which stet serve has to speak itself")
	case c.demo && (c.none || c.root != "." || c.cert != ""):
		return errors.New("--demo has a workspace of its own, and no certificate: it goes with none of --root, --no-workspace and --tls-cert")
	case c.lasts < 0:
		return errors.New("--for: want a time of 0 or more")
	case c.none && c.name != "":
		return errors.New("--workspace and --no-workspace exclude each other")
	}
	if c.beyond && host != "" {
		c.allowed = append(c.allowed, host)
	}
	return nil
}

// report prints the addresses.
func (c *serveCommand) report(s *site.Site) {
	base := s.Server.Base
	c.say("listening on %s; open this to decide what is written:", base)
	c.say("  %s/#token=%s", base, url.QueryEscape(s.PersonToken))
	if !c.none {
		c.say("workspace %s is %s; for an agent on this machine:", c.name, s.Tools.Root.Dir())
		c.say("  MCP at %s/mcp with Authorization: Bearer %s", base, s.AgentToken)
	} else {
		c.say("for an agent on this machine: Authorization: Bearer %s", s.AgentToken)
	}
	c.say("  ANTHROPIC_BASE_URL=%s/p/%s", base, s.AgentToken)
	c.say("  OPENAI_BASE_URL=%s/p/%s/v1", base, s.AgentToken)
	c.say("  GOOGLE_GEMINI_BASE_URL=%s/p/%s", base, s.AgentToken)
	c.say("\"stet token\" makes tokens for hosts, other agents and other people")
}
