package tokenfile

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/stet-dev/stet/server/gateway"
)

// scheme is the scheme of the URI in a certificate that gives its owner's rights.
const scheme = "stet"

// certified is a certificate that was verified.
type certified struct {
	token string    // the token of this process for it
	until time.Time // the earliest end in its chain
}

// Certified returns this process's token for a client's certificate. chain begins with the client's own certificate; signers are
// the CAs. The certificate must have a common name, which becomes the token's name, and one URI stet://ROLE/WORKSPACE, where ROLE
// is agent or host. No WORKSPACE means all of them. The error says what is wrong with the certificate, in words for the client.
func (k *Keyring) Certified(chain []*x509.Certificate, signers *x509.CertPool) (token string, err error) {
	own, now := chain[0], time.Now()
	print := sha256.Sum256(own.Raw)
	if token, ok := k.certifiedBefore(print, own, now); ok {
		return token, nil
	}
	// A client's chain may take long to verify, so this runs without the lock.
	until, err := verify(chain, signers, now)
	if err != nil {
		return "", fmt.Errorf("the client certificate of %.64q %w", own.Subject.CommonName, err)
	}
	n, err := tokenOf(own)
	if err != nil {
		return "", fmt.Errorf("the client certificate of %.64q %w", own.Subject.CommonName, err)
	}
	n.Expires = until
	k.mu.Lock()
	defer k.mu.Unlock()
	k.own.Sweep(0, now) // of certificates that have ended
	if _, token, err = k.own.Create(n, now); err != nil {
		return "", fmt.Errorf("the client certificate of %.64q: %w", own.Subject.CommonName, err)
	}
	if k.certified == nil {
		k.certified = map[[sha256.Size]byte]certified{}
	}
	for other, c := range k.certified {
		if !now.Before(c.until) {
			delete(k.certified, other)
		}
	}
	k.certified[print] = certified{token, until}
	return token, nil
}

// certifiedBefore returns the token of a certificate that was verified before.
func (k *Keyring) certifiedBefore(print [sha256.Size]byte, own *x509.Certificate, now time.Time) (token string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.certified[print]
	return c.token, ok && now.Before(c.until) && !now.Before(own.NotBefore)
}

// longestChain is the limit of a client's certificates that are checked.
const longestChain = 8

// verify checks whether a certificate is valid now, and returns the end of its validity.
func verify(chain []*x509.Certificate, signers *x509.CertPool, now time.Time) (until time.Time, err error) {
	between := x509.NewCertPool()
	for _, c := range chain[1:min(len(chain), longestChain)] {
		between.AddCert(c)
	}
	own := chain[0]
	found, err := own.Verify(x509.VerifyOptions{
		Roots: signers, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		of := invalid.Cert
		return until, fmt.Errorf("is not valid now, but from %s to %s: use a new one", of.NotBefore.Format(time.RFC3339), of.NotAfter.Format(time.RFC3339))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return until, errors.New("is not for clients: it needs the extended key usage clientAuth")
	case errors.As(err, &unknown):
		return until, fmt.Errorf("is signed by %.64q, which is not in the file of --client-ca", own.Issuer.CommonName)
	case err != nil:
		return until, fmt.Errorf("is not good: %w", err)
	}
	until = own.NotAfter
	for _, c := range found[0] {
		if c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	return until, nil
}

// tokenOf returns the token for a certificate. Its ID is the same for all certificates of one issuer with the same name and URI, so
// a client keeps its sessions after its certificate was renewed.
func tokenOf(c *x509.Certificate) (gateway.NewToken, error) {
	var of []*url.URL
	for _, u := range c.URIs {
		if u.Scheme == scheme {
			of = append(of, u)
		}
	}
	if len(of) != 1 {
		return gateway.NewToken{}, fmt.Errorf("has %d URIs of stet among its alternative names, and needs one: stet://host/WORKSPACE or stet://agent/WORKSPACE", len(of))
	}
	role := of[0].Host
	if role != gateway.Agents && role != gateway.Hosts {
		return gateway.NewToken{}, fmt.Errorf("is for %q: a certificate is for agent or host, and people have tokens or log in", of[0])
	}
	if c.Subject.CommonName == "" {
		return gateway.NewToken{}, errors.New("has no common name, which says in the audit trail who it was")
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(c.RawIssuer), c.Subject.CommonName, of[0].String()}, "\x00")))
	return gateway.NewToken{
		ID: "cert-" + hex.EncodeToString(sum[:6]), Name: c.Subject.CommonName, Scopes: []string{role}, Workspace: strings.TrimPrefix(of[0].Path, "/"),
	}, nil
}
