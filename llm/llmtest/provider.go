package llmtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Provider plays the hosts of providers on loopback, for programs that ask there. It is an HTTP proxy: tunnels to these hosts end at a
// scripted model, with certificates of an authority of its own that lives as long as it does. Tunnels to 127.0.0.1 lead there, and all
// else is refused. Close ends it.
type Provider struct {
	URL       string // of the HTTP proxy
	Authority []byte // the certificate of the authority, PEM
	Model     *Server

	front   *http.Server
	pool    *x509.CertPool
	ends    context.Context // when Close begins
	end     context.CancelFunc
	tunnels sync.WaitGroup
}

// StartProvider starts a provider with these hosts on a free port. The model listens in memory.
func StartProvider(c Config, hosts ...string) (*Provider, error) {
	p := &Provider{pool: x509.NewCertPool()}
	p.ends, p.end = context.WithCancel(context.Background())
	config, err := p.certify(hosts)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.URL = "http://" + l.Addr().String()
	inside := &Memory{}
	c.Listener = inside
	if p.Model, err = Start(c); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p.front = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, port, err := net.SplitHostPort(r.Host)
		switch {
		case err != nil || r.Method != http.MethodConnect:
		case port == "443" && slices.Contains(hosts, host):
			p.tunnel(w, r, config, inside.DialContext)
			return
		case host == "127.0.0.1": // some programs ask the proxy for it, whatever NO_PROXY says
			p.tunnel(w, r, nil, new(net.Dialer).DialContext)
			return
		}
		http.Error(w, "only the hosts of providers are here", http.StatusForbidden)
	})}
	go func() { _ = p.front.Serve(l) }() // Close ends it
	return p, nil
}

// tunnel hands what comes through a tunnel on, decrypted if there is a configuration for that.
func (p *Provider) tunnel(w http.ResponseWriter, r *http.Request, config *tls.Config, dial func(context.Context, string, string) (net.Conn, error)) {
	to, err := dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer context.AfterFunc(p.ends, func() { _ = to.Close() })()
	defer to.Close()
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the program is gone
	}
	defer from.Close()
	p.tunnels.Add(1)
	defer p.tunnels.Done()
	if _, err := io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	if config != nil {
		from = tls.Server(from, config)
	}
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to) // either end may be gone
}

// certify makes the authority, and returns what serves the hosts.
func (p *Provider) certify(hosts []string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, PermittedDNSDomainsCritical: true, PermittedDNSDomains: hosts,
	}
	ca.Subject.CommonName = "a scripted model"
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: hosts, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	root, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	p.Authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})
	p.pool.AppendCertsFromPEM(p.Authority)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"http/1.1"}}, nil
}

// Transport reaches the hosts through the provider.
func (p *Provider) Transport() *http.Transport {
	front, err := url.Parse(p.URL)
	return &http.Transport{
		Proxy:              func(*http.Request) (*url.URL, error) { return front, err },
		TLSClientConfig:    &tls.Config{RootCAs: p.pool},
		DisableCompression: true,
	}
}

// Close ends the provider, its model and its tunnels.
func (p *Provider) Close() error {
	err := errors.Join(p.front.Close(), p.Model.Close())
	p.end()
	p.tunnels.Wait()
	return err
}
