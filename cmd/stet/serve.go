package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/internal/config"
)

// serveFlags are the flags of stet serve that are no settings.
type serveFlags struct {
	root      string
	name      string // of the workspace, at the gateway
	none      bool   // there is no workspace here
	cert, key string // files for TLS; both or none
	beyond    bool
	allowed   []string
	trusted   []string // addresses of proxies
	proxies   proxies  // the same, read
	demo      bool
	demoDir   string        // "" is a temporary one
	lasts     time.Duration // 0: until it is told to end
	memory    memory
}

func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Everything on one port: gateway, file tools, proxy, UI",
		Long: `Listen on one port for agents, for the hosts of workspaces elsewhere ("stet host"),
and for people, who decide in a browser what is written:

  /         the UI
  /mcp      file tools of the workspace --root, over MCP;
            at /mcp/WORKSPACE those of a workspace elsewhere
  /v1/      the gateway: WebSockets at /v1/connect, plain HTTP (/v1/openapi.json)
  /p/TOKEN  the proxy: what a base URL for models is set to
  /healthz  ok when the process answers; /readyz when it can work, else 503 and why

Nothing else is let in without a token. Two are made at each start, one for you, which
is in the link that is printed, and one for agents on this machine; "stet token"
makes those that last.

Stop it with Ctrl-C: calls and requests in flight may end first. A second Ctrl-C
cuts them off.`,
		Example: `# For this machine
stet serve --root /home/me/project

# A gateway for workspaces elsewhere
stet serve --no-workspace --listen 0.0.0.0:4141 --insecure-listen-beyond-loopback \
    --allow-host gateway.example.org --tls-cert cert.pem --tls-key key.pem

# Look around, without a key: sessions, savings, and writes to decide on
stet serve --demo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runServe(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", ".", "the directory that the tools work in")
	flags.StringVar(&f.name, "workspace", "", "what the workspace is called at the gateway (default the directory's name)")
	flags.BoolVar(&f.none, "no-workspace", false, "have no workspace here, only those of hosts elsewhere")
	flags.StringVar(&f.cert, "tls-cert", "", "file of the certificate, PEM: speak TLS")
	flags.StringVar(&f.key, "tls-key", "", "file of its key, PEM")
	f.memory.add(flags)
	config.AddFlags(flags, append(proxyKeys, "listen", "rate", "model", "base-url", "api")...)
	flags.Lookup("model").Usage = "the model that sums sessions up in the UI; \"scripted\" plays one, and needs no key"
	flags.Lookup("base-url").Usage = "base URL of that model's endpoint (default the provider's own)"
	flags.BoolVar(&f.beyond, "insecure-listen-beyond-loopback", false, "listen on an address that other machines can reach")
	flags.BoolVar(&f.demo, "demo", false, "have something to show: a workspace, and two agents with scripted models")
	flags.StringVar(&f.demoDir, "demo-dir", "", "the directory for --demo, which stays (default a temporary one)")
	flags.DurationVar(&f.lasts, "for", 0, "end by itself so long after it has come up")
	flags.StringSliceVar(&f.allowed, "allow-host", nil, "another name that requests may call the server by")
	flags.StringSliceVar(&f.trusted, "trust-proxy", nil, "address or network of a proxy in front, whose X-Forwarded-For counts")
	return cmd
}

func (p *program) runServe(cmd *cobra.Command, f serveFlags) (err error) {
	var demo *serveDemo
	if f.demo {
		if demo, p, err = p.openServeDemo(f.demoDir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, demo.close()) }()
	}
	root := p.dir
	if !f.none {
		if root, err = p.workspaceDir(f.root); err != nil {
			return usage(cmd, err)
		}
		if f.name, err = workspaceName(f.name, root); err != nil {
			return usage(cmd, err)
		}
	}
	o, err := p.config(cmd, p.dir, root)
	if err != nil {
		return err
	}
	if err := f.check(o.Listen); err != nil {
		return usage(cmd, err)
	}
	defer outliveReader()()
	f.memory.keep()
	signals := notify(endSignals)
	defer signal.Stop(signals)
	running, stop := untilSignal(cmd.Context(), signals)
	defer stop()
	listener, err := listen(running, o.Listen)
	if err != nil && f.demo && !cmd.Flags().Changed("listen") {
		listener, err = listen(running, "127.0.0.1:0") // any port will do to look around
	}
	if err != nil {
		return err
	}
	o.Route(config.Upstreams{})
	s, err := p.openSite(running, cmd, o, root, f)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.start(listener)
	if demo != nil {
		err = demo.play(running, p, s)
	}
	if err == nil {
		if demo != nil {
			demo.tell(p)
		}
		p.tellSite(s, f)
		p.serveUntil(running, s, f.lasts)
	} else if running.Err() != nil {
		err = nil // it was told to end before it was up
	}
	stop()
	if demo != nil {
		demo.end()
	}
	return errors.Join(err, p.closeSite(cmd, s, signals))
}

// serveUntil waits until the server is to end: told so, by itself, or after a time.
func (p *program) serveUntil(running context.Context, s *site, lasts time.Duration) {
	var over <-chan time.Time
	if lasts > 0 {
		over = time.After(lasts)
	}
	select {
	case <-running.Done():
	case <-s.server.ended:
	case <-over:
	}
}

// closeSite lets what is in flight end, for as long as nobody loses patience.
func (p *program) closeSite(cmd *cobra.Command, s *site, signals chan os.Signal) error {
	slow := time.AfterFunc(time.Second, func() { p.say("waiting up to %s for what is in flight; Ctrl-C cuts it off", drain) })
	closing, stopClosing := lastCall(context.WithoutCancel(cmd.Context()), signals)
	defer stopClosing()
	defer slow.Stop()
	return s.close(closing)
}

// check says what is wrong with the flags.
func (f *serveFlags) check(address string) error {
	host, err := listenHost(address)
	if err == nil {
		err = f.memory.check()
	}
	if err == nil {
		f.proxies, err = parseProxies(f.trusted)
	}
	switch {
	case err != nil:
		return err
	case !loopback(host) && !f.beyond:
		return fmt.Errorf("%s is not a loopback address: whoever can reach it and learns a token could use it; "+
			"if that is what you want, add --insecure-listen-beyond-loopback", address)
	case (f.cert == "") != (f.key == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case f.demo && (f.none || f.root != "." || f.cert != ""):
		return errors.New("--demo has a workspace of its own, and no certificate: it goes with none of --root, --no-workspace and --tls-cert")
	case !f.demo && f.demoDir != "":
		return errors.New("--demo-dir says where --demo has its files")
	case f.lasts < 0:
		return errors.New("--for: want a time of 0 or more")
	case f.none && f.name != "":
		return errors.New("--workspace names a workspace that --no-workspace says there is not")
	}
	if f.beyond && host != "" {
		f.allowed = append(f.allowed, host)
	}
	return nil
}

// tellSite says where everything is.
func (p *program) tellSite(s *site, f serveFlags) {
	base := s.server.base
	p.say("listening on %s; open this to decide what is written:", base)
	p.say("  %s/#token=%s", base, url.QueryEscape(s.person))
	if !f.none {
		p.say("workspace %s is %s; for an agent on this machine:", f.name, s.hands.root.Dir())
		p.say("  MCP at %s/mcp with Authorization: Bearer %s", base, s.agent)
	} else {
		p.say("for an agent on this machine: Authorization: Bearer %s", s.agent)
	}
	p.say("  ANTHROPIC_BASE_URL=%s/p/%s", base, s.agent)
	p.say("  OPENAI_BASE_URL=%s/p/%s/v1", base, s.agent)
	p.say("\"stet token\" makes tokens for hosts, other agents and other people")
}
