package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nuid"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/site"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/nats"
)

// busFlags say how several stet serve connect: over NATS servers, or over one NATS server in each process.
type busFlags struct {
	bus    string
	listen string
	peers  []string
	secret string // file
	tls    busTLS

	user, password string // of this process at its own NATS server
}

// embedded is the value of --bus for a NATS server in each process.
const embedded = "embed"

func (f *busFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.bus, "bus", "", "work as one with other \"stet serve\" over NATS: nats://HOST:PORT, or \"embed\" for a NATS server in each process (default none: one server alone)")
	flags.StringVar(&f.listen, "bus-listen", "127.0.0.1:6222", "with --bus embed and --peers: HOST:PORT where the other servers connect")
	flags.StringSliceVar(&f.peers, "peers", nil, "with --bus embed: the HOST:PORT of --bus-listen of each other server; two or more servers")
	flags.StringVar(&f.secret, "bus-secret", "", "with --peers: the file of the secret that all servers share")
	flags.StringVar(&f.tls.cert, "bus-cert", "", "PEM file of the certificate that this server shows to the other servers; they then speak TLS")
	flags.StringVar(&f.tls.key, "bus-key", "", "PEM file of the key of --bus-cert")
	flags.StringVar(&f.tls.ca, "bus-ca", "", "PEM file of the certificates that sign the other servers' certificates")
}

// check validates the flags. beyond says that other machines may be reached without TLS.
func (f *busFlags) check(beyond bool) error {
	if err := f.tls.check(f); err != nil {
		return err
	}
	switch f.bus {
	case "":
		if len(f.peers) > 0 {
			return errors.New("--peers goes with --bus embed")
		}
		return nil
	case embedded:
		host, err := proxyserver.Host(f.listen)
		switch {
		case len(f.peers) == 0:
			return nil
		case err != nil:
			return fmt.Errorf("--bus-listen: %w", err)
		case len(f.peers) == 1:
			return errors.New("--peers: name two or more: with two servers, the loss of either stops both")
		case f.secret == "":
			return errors.New("--peers needs --bus-secret FILE, with the same secret at each server: who connects there may call every tool")
		case !proxyserver.Loopback(host) && !beyond && f.tls.cert == "":
			return fmt.Errorf("--bus-listen %s is not a loopback address, and the servers do not speak TLS with each other; "+
				"add --bus-cert, --bus-key and --bus-ca or, if the network is yours alone, --insecure-listen-beyond-loopback", f.listen)
		}
		return nil
	}
	if len(f.peers) > 0 {
		return errors.New("--peers goes with --bus embed")
	}
	for one := range strings.SplitSeq(f.bus, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls":
			return errors.New("--bus: want \"embed\", nats://HOST:PORT or tls://HOST:PORT, or several of these with commas")
		case u.Scheme == "nats" && !proxyserver.Loopback(u.Hostname()) && !beyond:
			return fmt.Errorf("--bus: %s is on another machine: use tls://, or add --insecure-listen-beyond-loopback if the network is yours alone", u.Host)
		}
	}
	return nil
}

// open connects the bus; nil if the flags name none.
func (f *busFlags) open(ctx context.Context, state string, say func(string, ...any)) (_ gateway.Bus, end func() error, err error) {
	if f.bus == "" {
		return nil, func() error { return nil }, nil
	}
	c := nats.Config{URL: f.bus, Replicas: 1, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	stop := func() {}
	var clustered *server.Server
	if f.bus != embedded {
		if c.TLS, err = f.tls.open(); err != nil {
			return nil, nil, &config.Error{Err: err}
		}
	} else {
		quiet := &natsLog{log: c.Log}
		quiet.waits.Store(len(f.peers) > 0)
		defer func() { err = quiet.begun(err) }()
		s, err := f.startServer(state, quiet)
		if err != nil {
			return nil, nil, fmt.Errorf("--bus embed: %w", err)
		}
		stop = func() {
			if len(f.peers) > 0 {
				s.LameDuckShutdown() // its leader roles move to another server before it ends
			}
			s.Shutdown()
			s.WaitForShutdown()
		}
		c.URL, c.Server, c.Replicas = "", s, min(len(f.peers)+1, 3)
		if len(f.peers) > 0 {
			c.URL, c.Server = s.ClientURL(), nil
			c.User, c.Password = f.user, f.password
			clustered = s
			say("waiting for the servers at %s", strings.Join(f.peers, ", "))
		}
	}
	opening, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	b, err := nats.Open(opening, c)
	if err == nil && clustered != nil {
		awaitCopies(opening, clustered, c.Log)
	}
	if err != nil {
		stop()
		if f.tls.cert == "" && strings.HasPrefix(f.bus, "tls://") {
			err = fmt.Errorf("%w; if the server asks for a certificate, give it with --bus-cert and --bus-key", err)
		}
		return nil, nil, err
	}
	return b, func() error {
		err := b.Close()
		stop()
		return err
	}, nil
}

// copiesTime is how long a starting server waits for its copies of the buckets.
const copiesTime = 15 * time.Second

// awaitCopies waits until this server has its copies of the buckets, which are in memory. Until then it is not ready: if another
// server ended, this one could neither lead nor elect a leader.
func awaitCopies(ctx context.Context, s *server.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, copiesTime)
	defer cancel()
	for {
		health := s.Healthz(&server.HealthzOptions{})
		if health.Status == "ok" {
			return
		}
		select {
		case <-ctx.Done():
			log.Warn("nats: this server goes on without its copies of the buckets; do not end another one yet", "err", health.Error)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// startServer starts the NATS server of this process. Only this process can connect to it as a client.
func (f *busFlags) startServer(state string, log *natsLog) (*server.Server, error) {
	o := &server.Options{
		ServerName: "stet-" + nuid.Next(), DontListen: true, JetStream: true, StoreDir: filepath.Join(state, "bus"),
		NoLog: true, NoSigs: true, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 256 << 20,
	}
	if len(f.peers) > 0 {
		secret, err := os.ReadFile(f.secret)
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(f.listen)
		if err != nil {
			return nil, err
		}
		o.Cluster = server.ClusterOpts{Name: "stet", Host: host, Username: "stet", Password: strings.TrimSpace(string(secret))}
		if o.Cluster.Password == "" {
			return nil, fmt.Errorf("%s is empty", f.secret)
		}
		if o.Cluster.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("--bus-listen %s: %w", f.listen, err)
		}
		if o.Cluster.TLSConfig, err = f.tls.mutual(); err != nil {
			return nil, &config.Error{Err: err}
		}
		o.Cluster.TLSTimeout = 5 // seconds
		// For clients that are still connected when it ends; this process's own client is not.
		o.LameDuckDuration, o.LameDuckGracePeriod = 200*time.Millisecond, 100*time.Millisecond
		// A NATS server of a cluster needs a port for clients.
		f.user, f.password = "stet", rand.Text()
		o.DontListen, o.Host, o.Port, o.Username, o.Password = false, "127.0.0.1", server.RANDOM_PORT, f.user, f.password
		o.ServerName = "stet-" + strings.NewReplacer(":", "-", ".", "-").Replace(f.listen) // the same after a restart
		for _, p := range f.peers {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: p, User: url.UserPassword("stet", o.Cluster.Password)})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.SetLogger(log, false, false)
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the server is not up after 20 s; is the port of --bus-listen in use?")
	}
	return s, nil
}

// busTLS has the certificate files with which connected servers, or NATS servers, authenticate each other.
type busTLS struct{ cert, key, ca string }

// check validates the flags. f has the other flags.
func (s *busTLS) check(f *busFlags) error {
	switch {
	case s.cert == "" && s.key == "" && s.ca == "":
		return nil
	case f.bus == embedded && len(f.peers) == 0 || f.bus != embedded && !strings.HasPrefix(f.bus, "tls://"):
		return errors.New("--bus-cert, --bus-key and --bus-ca go with --peers, or with --bus tls://…")
	case (s.cert == "") != (s.key == ""):
		return errors.New("--bus-cert and --bus-key go together")
	case f.bus == embedded && (s.cert == "" || s.ca == ""):
		return errors.New("--bus-cert, --bus-key and --bus-ca go together where servers connect to each other: each shows its certificate, and looks at that of the other")
	}
	return nil
}

// open reads the files; nil: no TLS.
func (s *busTLS) open() (*tls.Config, error) {
	if s.cert == "" && s.ca == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		c.RootCAs = x509.NewCertPool()
		if err := site.AddCertificates(c.RootCAs, s.ca); err != nil {
			return nil, fmt.Errorf("--bus-ca: %w", err)
		}
	}
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return nil, fmt.Errorf("--bus-cert, --bus-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// mutual is open for servers that connect to each other. A certificate that the others would refuse is an error here, because here
// the reason can be shown.
func (s *busTLS) mutual() (*tls.Config, error) {
	c, err := s.open()
	if err != nil || c == nil {
		return nil, err
	}
	c.ClientCAs, c.ClientAuth = c.RootCAs, tls.RequireAndVerifyClientCert
	own, between := c.Certificates[0], x509.NewCertPool()
	for _, der := range own.Certificate[1:] {
		if more, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(more)
		}
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := own.Leaf.Verify(x509.VerifyOptions{Roots: c.RootCAs, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}})
		var invalid x509.CertificateInvalidError
		switch {
		case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
			return nil, fmt.Errorf("--bus-cert: a certificate is not valid now, but from %s to %s",
				invalid.Cert.NotBefore.Format(time.RFC3339), invalid.Cert.NotAfter.Format(time.RFC3339))
		case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
			return nil, errors.New("--bus-cert: the certificate needs both extended key usages, serverAuth and clientAuth: each server connects to the others")
		case err != nil:
			return nil, fmt.Errorf("--bus-cert: the others would refuse it: %w", err)
		}
	}
	return c, nil
}

// natsLog logs the messages of this process's NATS server. While it waits for the others, one that does not answer yet is no error.
type natsLog struct {
	log     *slog.Logger
	trouble limits.Repeats
	waits   atomic.Bool
	last    atomic.Pointer[string] // what was not logged last
}

// begun ends the wait. The error with which it ended gets what was not logged.
func (l *natsLog) begun(err error) error {
	l.waits.Store(false)
	if last := l.last.Load(); err != nil && last != nil {
		return fmt.Errorf("%w; %s", err, *last)
	}
	return err
}

func (l *natsLog) Errorf(format string, args ...any) { l.say(format, args) }
func (l *natsLog) Fatalf(format string, args ...any) { l.say(format, args) }
func (l *natsLog) Warnf(string, ...any)              {}
func (l *natsLog) Noticef(string, ...any)            {}
func (l *natsLog) Debugf(string, ...any)             {}
func (l *natsLog) Tracef(string, ...any)             {}

func (l *natsLog) say(format string, args []any) {
	if l.waits.Load() && strings.Contains(format, "trying to connect to route") {
		text := fmt.Sprintf(format, args...)
		l.last.Store(&text)
		return
	}
	if left, ok := l.trouble.Say(format); ok { // repeated messages differ only in a port or a number
		l.log.Error("nats: "+fmt.Sprintf(format, args...), "repeated", left)
	}
}
