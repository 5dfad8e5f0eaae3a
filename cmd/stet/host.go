package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/site"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/gateway"
)

// hostCommand is stet host.
type hostCommand struct {
	command
	root      string
	name      string
	tokenFile string
	ca        string // file
	cert, key string // files of this host's own certificate; both or none
	here      bool   // the person at this terminal decides
	memory    memory
}

func newHost(p *program) *cobra.Command {
	c := &hostCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "host [flags] URL",
		Short: "Connect a directory on this machine to a gateway elsewhere",
		Long: `Connect to the gateway at URL ("stet serve"), and run the file tools that agents call
there in the directory --root. The people of the gateway decide what is written or,
with --decide-here, you do, in this terminal. Writes are recorded on this machine
("stet audit"), and can be taken back here ("stet undo").

"stet token create NAME --scope host" at the gateway makes the token. Pass it in
STET_TOKEN or in the file --token-file. Where the gateway has --client-ca, a client
certificate with the URI stet://host/WORKSPACE can be used instead (--cert, --key);
the files are read again for each connection. A connection that is lost is made again.`,
		Example: `STET_TOKEN=stet_… stet host https://gateway.example.org

# The person at this machine decides
stet host --root /home/me/project --token-file token --decide-here http://127.0.0.1:4141`,
		Args: oneArg("the URL of a gateway"),
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.StringVar(&c.root, "root", ".", "the directory that the tools work in")
	f.StringVar(&c.name, "workspace", "", "name of the workspace at the gateway (default the name of the directory)")
	f.StringVar(&c.tokenFile, "token-file", "", "file that has the token (default the variable STET_TOKEN)")
	f.StringVar(&c.ca, "ca", "", "PEM file of further certificates that may sign the gateway's certificate")
	f.StringVar(&c.cert, "cert", "", "PEM file of this host's certificate, which is used if there is no token")
	f.StringVar(&c.key, "key", "", "PEM file of the key of --cert")
	f.BoolVar(&c.here, "decide-here", false, "ask in this terminal what may be written, instead of at the gateway")
	config.AddFlags(f, "rate", "log")
	c.memory.add(f)
	return cmd
}

func (c *hostCommand) Run(ctx context.Context) error {
	address := c.args[0]
	if err := checkGateway(address); err != nil {
		return c.usage(err)
	}
	if err := c.memory.check(); err != nil {
		return c.usage(err)
	}
	c.memory.keep()
	root, err := c.workspaceDir(c.root)
	if err == nil {
		c.name, err = site.WorkspaceName(c.name, root)
	}
	if err != nil {
		return c.usage(err)
	}
	trusted, err := c.secure(address)
	if err != nil {
		return err
	}
	token, err := c.hostToken(c.tokenFile)
	if err != nil {
		return err
	}
	if err := c.mayServe(root, c.cmd.Flags().Changed("root")); err != nil {
		return c.usage(err)
	}
	settings, err := c.config(c.cmd, root, root)
	if err != nil {
		return err
	}
	o, err := c.toolOptions(settings)
	if err != nil {
		return err
	}
	o.Elsewhere = true
	running, stop := process.UntilEnded(ctx)
	defer stop()
	h, err := toolset.Open(running, root, o)
	if err != nil {
		return err
	}
	host := &gateway.Host{
		Dial: gateway.Dial{URL: address, Token: token, TLS: trusted}, Workspace: c.name, Caller: h.Handler, Stage: h.Files.Stage,
		Remembers: true, Client: "stet " + version(), Log: h.Log, Memory: c.memory.part(callShare),
		End:       h.End,
		Connected: func(string) { c.say("connected to %s as workspace %s", address, c.name) },
		Unreached: func(err error) { c.say("no connection to %s, stet tries again: %v", address, err) },
	}
	if c.here {
		err = c.decideHere(running, h, host)
	} else {
		h.Handler.Approver = gateway.Relay{}
		err = host.Run(running)
	}
	stop()
	return errors.Join(err, h.Close())
}

// decideHere runs the host, and asks the person at this terminal.
func (c *hostCommand) decideHere(ctx context.Context, h *toolset.Set, host *gateway.Host) error {
	queue := new(approval.Queue)
	h.Handler.Approver = gateway.Relay{Next: queue}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sub := queue.Subscribe()
	defer sub.Close()
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	asking.Go(func() {
		err := c.dialog().Approve(ctx, byTerminal{sub})
		switch {
		case ctx.Err() != nil:
		case err == nil:
			cancel() // the person has quit
		case errors.Is(err, io.EOF):
			c.say("standard input has ended: no one can decide here, and questions will time out")
		default:
			c.say("%v", err)
		}
	})
	return host.Run(ctx)
}

// byTerminal answers questions as the person at the terminal.
type byTerminal struct{ *approval.Subscription }

// Answer implements terminal.Source.
func (b byTerminal) Answer(ctx context.Context, id string, a approval.Answer) error {
	a.By = approval.LocalPerson()
	return b.Subscription.Answer(ctx, id, a)
}

// checkGateway validates a gateway's URL. Over plain HTTP other machines could read the token and all files.
func checkGateway(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "":
		return fmt.Errorf("%q is not the URL of a gateway: want http://HOST:PORT or https://HOST", address)
	case u.Scheme == "https" || u.Scheme == "http" && proxyserver.Loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("%s: others could read the token and the files on the way: use https, or a tunnel to a loopback port", address)
	}
	return fmt.Errorf("%s: want http or https", address)
}

// secure returns the TLS configuration for the gateway; nil: the system's CAs, and no client certificate.
func (c *hostCommand) secure(address string) (*tls.Config, error) {
	if c.ca == "" && c.cert == "" && c.key == "" {
		return nil, nil
	}
	t := new(tls.Config)
	if c.ca != "" {
		t.RootCAs = systemCertificates()
		if err := site.AddCertificates(t.RootCAs, c.absolute(c.ca)); err != nil {
			return nil, misconfigured(fmt.Errorf("--ca: %w", err))
		}
	}
	switch {
	case c.cert == "" && c.key == "":
		return t, nil
	case c.cert == "" || c.key == "":
		return nil, c.usage(errors.New("--cert and --key go together"))
	case !strings.HasPrefix(address, "https:"):
		return nil, c.usage(fmt.Errorf("--cert: %s is not reached over TLS, which a certificate needs: use https", address))
	}
	cert, key := c.absolute(c.cert), c.absolute(c.key)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, misconfigured(fmt.Errorf("--cert, --key: %w", err))
	}
	if end := pair.Leaf.NotAfter; time.Now().After(end) {
		return nil, misconfigured(fmt.Errorf("--cert: the certificate of %q has ended on %s: use a new one", pair.Leaf.Subject.CommonName, end.Format(time.RFC3339)))
	}
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // it may have been renewed
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	return t, nil
}

// hostToken returns the token from a file or the environment.
func (c *hostCommand) hostToken(file string) (string, error) {
	token := c.getenv("STET_TOKEN")
	if file != "" {
		b, err := os.ReadFile(c.absolute(file))
		if err != nil {
			return "", misconfigured(fmt.Errorf("--token-file: %w", err))
		}
		token = string(b)
	}
	if token = strings.TrimSpace(token); token == "" {
		if c.cert != "" {
			return "", nil
		}
		return "", misconfigured(errors.New("a token is needed, in STET_TOKEN or by --token-file: \"stet token create NAME --scope host\" makes one at the gateway; or a certificate, by --cert and --key"))
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", misconfigured(errors.New("the token has a space or a character that is not ASCII: no request can carry it"))
	}
	return token, nil
}
