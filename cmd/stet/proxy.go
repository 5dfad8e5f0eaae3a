package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/apis"
)

// proxyKeys are the keys that wrap, proxy and serve share.
var proxyKeys = []string{
	"policy", "keep", "lang", "placeholder", "project-root", "observe", "threads", "clear", "log", "record", "record-days", "store", "proxy-memory",
	"upstream", "upstream-messages", "upstream-chat", "upstream-responses", "upstream-gemini",
	"upstream-vertex", "upstream-azure", "upstream-bedrock",
}

// drain is the time limit for running requests after the proxy is asked to end.
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
text that the model can already see or, under the policies adaptive and bold,
does not need any more. Agents find the proxy through ANTHROPIC_BASE_URL,
OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL.

The proxy also serves the paths of Vertex AI and Azure (ANTHROPIC_VERTEX_BASE_URL,
ANTHROPIC_FOUNDRY_BASE_URL with /anthropic after the address, AZURE_OPENAI_ENDPOINT);
--upstream-azure names the resource. Requests to Bedrock pass unchanged.

Ctrl-C stops it: running requests may end first. A second Ctrl-C ends these
requests, and a third one ends stet at once.

` + policiesHelp,
		Example: `# For agents started elsewhere
stet proxy

# In front of a local model
stet proxy --upstream http://127.0.0.1:11434/v1

# Change nothing, only report
stet proxy --observe`,
		Args: noArgs,
	}, &c.command, c.Run)
	f := cmd.Flags()
	config.AddFlags(f, append(proxyKeys, "listen", "via")...)
	f.BoolVar(&c.beyond, "insecure-listen-beyond-loopback", false, "listen on an address that other machines can reach")
	addHosts(f, &c.allowed, "")
	return cmd
}

// addHosts adds the flag --allow-host, whose values it checks. when begins its help.
func addHosts(f *pflag.FlagSet, into *[]string, when string) {
	f.Func("allow-host", when+"a further `name` of a host that is allowed in the Host header of requests, next to localhost", func(given string) error {
		for _, host := range strings.Split(given, ",") {
			if host == "" || strings.ContainsAny(host, ":/ ") && net.ParseIP(host) == nil {
				return fmt.Errorf("want the name or address of a host alone, without a scheme and a port, not %q", host)
			}
			*into = append(*into, host)
		}
		return nil
	})
}

func (c *proxyCommand) Run(ctx context.Context) (err error) {
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
	if c.beyond && o.Via == config.ViaConnect {
		return c.usage(errors.New("other machines would reach everything that this one reaches: leave out --via connect, or --insecure-listen-beyond-loopback"))
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
	o.Route(llm.Upstreams{})
	served := proxyserver.Config{Hosts: c.allowed, Agents: c.agentUpstreams(o)}
	guarded, err := c.openGuard(running, o)
	if wrong := new(config.Error); errors.As(err, &wrong) {
		return errors.Join(err, listener.Close())
	}
	if err != nil {
		c.say("agents are not guarded: %v", err) // the proxy serves all the same
	} else {
		served.Guard = guarded
		defer context.AfterFunc(running, guarded.guard.Withdraw)() // otherwise the end would wait for a person
		defer func() { err = errors.Join(err, guarded.Close()) }()
	}
	if o.Via != config.ViaBaseURL && !c.beyond {
		served.Agents = proxyserver.HostUpstreams(o, served.Agents)
		served.Forward = c.forward
	}
	s, err := c.startProxy(running, o, listener, served)
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

// forward configures the forward proxy for a CONNECT. The agents that stet setup sends there trust its certificate.
func (c *proxyCommand) forward() (f proxyserver.Forward, err error) {
	if f.Authority, err = c.authority(); err != nil {
		return f, err
	}
	f.NoProxy, f.Roots = c.noProxy(), c.roots()
	all, err := c.lasting()
	for name, agent := range all {
		if agent.Trust != "" && err == nil {
			own, _ := os.ReadFile(agent.Trust) // it is made again
			_, err = proxyserver.TrustFile(filepath.Dir(agent.Trust), name, f.Authority, own)
		}
	}
	return f, err
}

// startProxy starts the proxy on listener. Fields missing in c come from the configuration o.
func (p *program) startProxy(ctx context.Context, o *config.Config, listener net.Listener, c proxyserver.Config) (*proxyserver.Server, error) {
	(memory(o.ProxyMemory) - programMemory).keep()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // below the soft limit; a twelfth less processor time for a request, and the peak is the limit's in any case
	}
	c, err := p.proxyConfig(o, c)
	if err != nil {
		return nil, err
	}
	s, err := proxyserver.Open(ctx, c)
	if err != nil {
		return nil, misconfigured(err)
	}
	s.Serve(listener)
	return s, nil
}

// proxyConfig returns c completed from the configuration o.
func (p *program) proxyConfig(o *config.Config, c proxyserver.Config) (_ proxyserver.Config, err error) {
	c.Settings, c.Store, c.Log, c.Say, c.Roots = o, p.storeOf(o), p.logFile(o.Log), p.say, p.roots()
	if c.State, err = p.stateDir(); err != nil && o.Holdout > 0 {
		return c, err
	}
	c.Models, err = p.models(o.Prices)
	return c, err
}

// agentUpstreams returns a function for the upstreams of an agent that had another base URL before "stet setup --proxy". The file
// is read for each request, because the agent may be set up while the proxy runs.
func (p *program) agentUpstreams(o *config.Config) func(name string) (llm.Upstreams, error) {
	return func(name string) (llm.Upstreams, error) {
		all, err := p.lasting()
		if err != nil {
			return llm.Upstreams{}, err
		}
		asked := all.Asked(name)
		if len(asked) == 0 {
			return llm.Upstreams{}, fmt.Errorf("it is not known where %q asked before it was sent through the proxy: run \"stet setup --proxy\" for it again", name)
		}
		return o.Routed(asked), nil
	}
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
	if o.Via == config.ViaConnect { // otherwise only stet setup needs to know
		c.say("  HTTPS_PROXY=%s", s.Base)
	}
	var to []string
	for _, a := range apis.All() {
		plain, _, _ := strings.Cut(cmp.Or(o.Upstream[a.Name], a.Upstream), "?") // a query may hold a key
		to = append(to, a.Name+" to "+plain)
	}
	to[0] = strings.Replace(to[0], " to ", " go to ", 1)
	c.say("%s", strings.Join(to, ", "))
}
