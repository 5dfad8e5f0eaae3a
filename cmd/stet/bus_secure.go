package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/limits"
)

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
		b, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fmt.Errorf("--bus-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("--bus-ca: %s has no certificate in it", s.ca)
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

// natsLog logs the messages of this process's NATS server.
type natsLog struct {
	log     *slog.Logger
	trouble limits.Repeats
}

func (l *natsLog) Errorf(format string, args ...any) { l.say(format, args) }
func (l *natsLog) Fatalf(format string, args ...any) { l.say(format, args) }
func (l *natsLog) Warnf(string, ...any)              {}
func (l *natsLog) Noticef(string, ...any)            {}
func (l *natsLog) Debugf(string, ...any)             {}
func (l *natsLog) Tracef(string, ...any)             {}

func (l *natsLog) say(format string, args []any) {
	if left, ok := l.trouble.Say(format); ok { // repeated messages differ only in a port or a number
		l.log.Error("nats: "+fmt.Sprintf(format, args...), "repeated", left)
	}
}
