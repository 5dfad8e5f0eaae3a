package connect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"sync"
	"time"
)

// How long certificates are valid. An authority is replaced when less than authorityLeft is left, so that no agent outlives it.
const (
	authorityLife = 365 * 24 * time.Hour
	authorityLeft = 60 * 24 * time.Hour
	leafLife      = 24 * time.Hour
	leafLeft      = 12 * time.Hour
	skew          = time.Hour          // certificates begin earlier, for clocks that are slow
	setBack       = 7 * 24 * time.Hour // an authority begins so much earlier: the clock may be set back while an agent runs that trusts it
)

// Authority signs certificates for a few hosts. Its own certificate is limited to these hosts by name constraints, so that its key is of
// no use for others. It may be used concurrently.
type Authority struct {
	text []byte // the certificate and the private key, as PEM
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu      sync.Mutex
	leafKey *ecdsa.PrivateKey
	leaves  map[string]*tls.Certificate
}

// NewAuthority makes an authority for hosts. It takes over the key of last, so that programs which trust that one trust it too, until last
// ends. last may be nil.
func NewAuthority(hosts []string, last *Authority) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if last != nil {
		key = last.key
	}
	now := time.Now()
	_, noIPv4, _ := net.ParseCIDR("0.0.0.0/0")
	_, noIPv6, _ := net.ParseCIDR("::/0")
	own := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "stet, for the agents of one user", Organization: []string{"stet"}},
		NotBefore: now.Add(-setBack), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: hosts, ExcludedIPRanges: []*net.IPNet{noIPv4, noIPv6},
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return ParseAuthority(append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...))
}

// Text returns the certificate and the private key as PEM, for ParseAuthority.
func (a *Authority) Text() []byte { return a.text }

// ParseAuthority reads what Text returned.
func ParseAuthority(text []byte) (*Authority, error) {
	a := &Authority{text: text, leaves: map[string]*tls.Certificate{}}
	certBlock, rest := pem.Decode(text)
	private, _ := pem.Decode(rest)
	if certBlock == nil || private == nil || private.Type != "PRIVATE KEY" {
		return nil, errors.New("it does not hold a certificate and its key")
	}
	var err error
	if a.cert, err = x509.ParseCertificate(certBlock.Bytes); err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(private.Bytes)
	if err != nil {
		return nil, err
	}
	var ok bool
	if a.key, ok = key.(*ecdsa.PrivateKey); !ok || !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return nil, errors.New("its key does not belong to its certificate")
	}
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	return a, nil
}

// Fits reports whether the authority is for exactly these hosts, and valid for long enough.
func (a *Authority) Fits(hosts []string) bool {
	now := time.Now()
	return slices.Equal(slices.Sorted(slices.Values(hosts)), slices.Sorted(slices.Values(a.cert.PermittedDNSDomains))) && a.cert.PermittedDNSDomainsCritical &&
		!now.Before(a.cert.NotBefore) && now.Add(authorityLeft).Before(a.cert.NotAfter)
}

// Certificate returns the authority's certificate as PEM, without the key.
func (a *Authority) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// leaf returns a certificate for a host that is valid now, also after the clock was set, and for at least leafLeft.
func (a *Authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if c := a.leaves[host]; c != nil && now.After(c.Leaf.NotBefore) && now.Add(leafLeft).Before(c.Leaf.NotAfter) {
		return c, nil
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-skew), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}, a.cert, &a.leafKey.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", host, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leafKey, Leaf: leaf}
	a.leaves[host] = c
	return c, nil
}

// serial returns a random serial number, as certificates need.
func serial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}
