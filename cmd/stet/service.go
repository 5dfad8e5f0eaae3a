package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
)

// serviceCommand is stet service.
type serviceCommand struct {
	command
	dry bool
}

func newService(p *program) *cobra.Command {
	parent := group(&cobra.Command{
		Use:   "service",
		Short: "Have the system start the proxy and the guard",
		Long: `Have the system start "stet proxy" by itself, at the address that the configuration
names (listen). It serves the proxy and the guard. With systemd it starts when a request
comes, and again with the next one if it ended; launchd and Windows start it when you log
in. So the agents that "stet setup --proxy" sends there, and the hooks of "stet guard",
always find it.`,
	})
	install := &serviceCommand{}
	cmd := p.runs(&cobra.Command{
		Use: "install", Short: "Install the service for your user, and start it", Example: "stet service install", Args: noArgs,
	}, &install.command, install.install)
	config.AddFlags(cmd.Flags(), "listen")
	cmd.Flags().BoolVar(&install.dry, "dry-run", false, "only say what would be written")
	remove := &serviceCommand{}
	status := &serviceCommand{}
	parent.AddCommand(cmd,
		p.runs(&cobra.Command{Use: "remove", Short: "End the service, and remove it", Example: "stet service remove", Args: noArgs}, &remove.command, remove.remove),
		p.runs(&cobra.Command{Use: "status", Short: "Say whether the service is installed, and whether it answers", Example: "stet service status", Args: noArgs}, &status.command, status.status))
	return parent
}

// httpProxies are the variables that name an HTTP proxy.
var httpProxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}

// serviceVariables are the variables that the proxy needs as a service: where its files are, and the way to the providers.
var serviceVariables = append([]string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"}, httpProxies...)

// sayLogout says so if the service ends at logout.
func (p *program) sayLogout(s *process.Service) {
	if s.System == "linux" && !s.Lingers() {
		p.say(`the proxy and the guard end when you log out; if agents run after that, say "loginctl enable-linger"`)
	}
}

// service returns the proxy as a service of the system, installed or not.
func (p *program) service(listen string) (*process.Service, error) {
	state, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if port, is := strings.CutPrefix(listen, "localhost:"); is { // systemd accepts only addresses
		listen = "127.0.0.1:" + port
	}
	s := &process.Service{System: runtime.GOOS, Program: ownPath(self), Listen: listen, Home: p.home(), State: state, User: os.Getuid()}
	s.Config = filepath.Dir(filepath.Dir(p.userConfig()))
	if who, err := user.Current(); err == nil {
		s.Name = who.Username
	}
	for _, name := range serviceVariables {
		if v := p.getenv(name); v != "" && v != "http://"+listen { // an agent's shell may have the proxy's own address
			s.Env = append(s.Env, name+"="+v)
		}
	}
	return s, nil
}

// serviceAsConfigured returns the service at the configured address.
func (c *command) serviceAsConfigured() (*process.Service, *config.Config, error) {
	o, err := c.settings("")
	if err != nil {
		return nil, nil, err
	}
	s, err := c.service(o.Listen)
	return s, o, err
}

func (c *serviceCommand) install(ctx context.Context) error {
	s, _, err := c.serviceAsConfigured()
	if err != nil {
		return err
	}
	host, err := proxyserver.Host(s.Listen)
	switch {
	case err != nil:
		return c.usage(err)
	case !proxyserver.Loopback(host):
		return c.usage(fmt.Errorf("%s is not a loopback address: the service serves this machine alone", s.Listen))
	case strings.HasSuffix(s.Listen, ":0"):
		return c.usage(errors.New("the service needs a port that stays the same: name one with --listen"))
	case s.Address() != s.Listen && answers(ctx, s.Listen):
		return fmt.Errorf("something answers at %s already: end the \"stet proxy\" that runs there, or choose another port with --listen", s.Listen)
	}
	if c.dry {
		files, err := s.Files()
		for _, f := range files {
			c.say("%s would be written", f)
		}
		return err
	}
	files, err := s.Install(ctx)
	if err != nil {
		return fmt.Errorf("the service is not installed, since the system does not take it here: %w; "+
			"start \"stet proxy\" yourself, and add --force to \"stet setup --proxy\"", err)
	}
	for _, f := range files {
		c.say("written: %s", f)
	}
	c.say("the proxy and the guard start when they are needed, at http://%s", s.Listen)
	c.sayLogout(s)
	c.say(`next: "stet setup --proxy AGENT" sends an agent's requests there for good, and "stet guard AGENT" records what its own tools change`)
	return nil
}

func (c *serviceCommand) remove(ctx context.Context) error {
	s, _, err := c.serviceAsConfigured()
	if err != nil {
		return err
	}
	lasting, err := c.lasting()
	if err != nil {
		return err
	}
	removed, err := s.Remove(ctx)
	for _, f := range removed {
		c.say("removed: %s", f)
	}
	switch {
	case err != nil:
		return err
	case len(removed) == 0:
		c.say("the service is not installed")
	}
	for _, name := range lasting.Names() {
		c.say(`%s still asks at the proxy: "stet setup --proxy %s --remove" puts back what was there`, name, name)
	}
	return nil
}

func (c *serviceCommand) status(ctx context.Context) error {
	s, _, err := c.serviceAsConfigured()
	if err != nil {
		return err
	}
	at := s.Address()
	if at == "" {
		return errors.New(`the service is not installed: "stet service install" installs it`)
	}
	c.say("installed, at http://%s", at)
	if !answers(ctx, at) {
		return fmt.Errorf("the proxy does not answer at %s: on Linux \"journalctl --user -u stet\" says why", at)
	}
	if err := c.guardError(ctx, at); err != nil {
		return err
	}
	c.say("the proxy and the guard answer")
	return nil
}

// answers reports whether a proxy of stet answers at an address.
func answers(ctx context.Context, address string) bool {
	status, text, err := get(ctx, "http://"+address+"/healthz")
	return err == nil && status == http.StatusOK && strings.TrimSpace(text) == "ok"
}
