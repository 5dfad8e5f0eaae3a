package site

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// openTLS reads the TLS files; nil: no TLS. The handshake requests a client certificate but does not verify it. certified verifies
// it, so that a client with an invalid certificate gets the reason.
func (s *Site) openTLS() (*tls.Config, error) {
	c := &s.config
	if c.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{pair}}
	if c.ClientCA == "" {
		return t, nil
	}
	s.signers = x509.NewCertPool()
	if err = AddCertificates(s.signers, c.ClientCA); err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	t.ClientAuth, t.ClientCAs = tls.RequestClientCert, s.signers
	return t, nil
}

// AddCertificates adds the certificates of a PEM file to a pool.
func AddCertificates(pool *x509.CertPool, file string) error {
	b, err := os.ReadFile(file)
	if err == nil && !pool.AppendCertsFromPEM(b) {
		err = fmt.Errorf("%s has no certificate in it", file)
	}
	return err
}

// certified adds the token for a client certificate to a request without a token. A token in the request has priority. It verifies
// the certificate for every request, so that no connection outlives it.
func (s *Site) certified(next http.Handler) http.Handler {
	if s.signers == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || gateway.Bearer(r) != "" {
			next.ServeHTTP(w, r)
			return
		}
		token, err := s.keys.Certified(r.TLS.PeerCertificates, s.signers)
		if err != nil {
			s.Log.Warn("refused", "why", err, "remote", r.RemoteAddr)
			s.hub.Refused(r, "the client certificate is not good") // the client chose the certificate's text, so it is not recorded
			gateway.Fail(w, http.StatusForbidden, wire.Forbidden, err.Error())
			return
		}
		own := r.WithContext(r.Context())
		own.Header = r.Header.Clone()
		own.Header.Set("Authorization", "Bearer "+token)
		next.ServeHTTP(w, own)
	})
}
