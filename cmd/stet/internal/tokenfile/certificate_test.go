package tokenfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net/url"
	"testing"
	"time"
)

// While the certificate of one client is verified, which may take long, other clients' tokens can be looked up.
func TestVerifyingBlocksNoLookup(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(c, by *x509.Certificate) *x509.Certificate {
		t.Helper()
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	root = signed(root, root)
	own := signed(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "laptop"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs: []*url.URL{{Scheme: "stet", Host: "host", Path: "/w"}},
	}, root)
	k := NewKeyring(t.TempDir(), slog.New(slog.DiscardHandler))
	verified, held := 0, false
	signers := x509.NewCertPool()
	signers.AddCertWithConstraint(root, func([]*x509.Certificate) error {
		verified++
		if k.mu.TryLock() {
			k.mu.Unlock()
		} else {
			held = true
		}
		return nil
	})
	for range 2 {
		token, err := k.Certified([]*x509.Certificate{own}, signers)
		if err != nil {
			t.Fatal(err)
		}
		if who, err := k.Identify(token); err != nil || who.Name != "laptop" || who.Workspace != "w" || !who.May("host") || who.May("agent") {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if verified != 1 || held {
		t.Errorf("verified %d times, others were held up: %v", verified, held)
	}
}
