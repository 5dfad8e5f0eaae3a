package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stet-dev/stet/test/freeport"
)

// Servers of a cluster use TLS between them, with a certificate each. A client with the secret but without a certificate of the
// signer is refused.
func TestServeClusterTLS(t *testing.T) {
	ours, others := newSigner(t, "cluster"), newSigner(t, "another signer")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, string(ours.pem))
	addresses := freeport.Addresses(t, 3)
	var homes [3]*home
	var up [3]*serving
	flags := clusterFlags(t, addresses)
	for i := range flags {
		homes[i] = newHome(t)
		pair, of := ours.node("node", nil)
		cert, key := files(t, pair, of)
		flags[i] = append(flags[i], "--bus-cert", cert, "--bus-key", key, "--bus-ca", ca)
		if i == 1 {
			flags[i] = append(flags[i], "--root", homes[i].tree, "--workspace", "w")
		} else {
			flags[i] = append(flags[i], "--no-workspace")
		}
	}
	var nodes [3]*background
	for i := range nodes {
		nodes[i] = homes[i].start(t, flags[i]...)
	}
	for i, b := range nodes {
		up[i] = b.serving(t)
	}
	write(t, filepath.Join(homes[1].tree, "far.txt"), "over TLS\n")
	waitFor(t, func() bool {
		_, text := ask(t, http.MethodPost, up[0].base+"/v1/sessions/s/tools/read_file", `{"path":"far.txt"}`, "Authorization", "Bearer "+up[0].agent)
		return strings.Contains(text, "over TLS")
	})

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ours.pem)
	trusting := &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	foreign, foreignKey := others.node("node", nil)
	good, goodKey := ours.node("node", nil)
	old, oldKey := ours.node("node", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early, earlyKey := ours.node("node", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })
	host, hostKey := ours.node("node", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	for what, c := range map[string]struct {
		config *tls.Config
		in     bool
	}{
		"no certificate":                  {trusting, false},
		"a certificate of another signer": {with(t, trusting, foreign, foreignKey), false},
		"an expired certificate":          {with(t, trusting, old, oldKey), false},
		"a certificate of the future":     {with(t, trusting, early, earlyKey), false},
		"a certificate not for clients":   {with(t, trusting, host, hostKey), false},
		"a certificate":                   {with(t, trusting, good, goodKey), true},
	} {
		if err := connectAtRoute(t, addresses[0], c.config); (err == nil) != c.in {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// connectAtRoute connects like another server of the cluster, and returns why it is refused.
func connectAtRoute(t *testing.T, address string, c *tls.Config) error {
	t.Helper()
	plain, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := plain.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err = tls.Client(plain, c).Read(make([]byte, 1)) // the server sends its information, or the refusal
	return err
}

// An error in the certificates of a cluster is reported: by the server itself if it can know it, otherwise by the servers that
// refuse it.
func TestServeClusterTLSFiles(t *testing.T) {
	ours, others := newSigner(t, "cluster"), newSigner(t, "another signer")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("ca.pem"), string(ours.pem))
	write(t, in("both.pem"), string(ours.pem)+string(others.pem))
	node := func(by *signer, change func(*x509.Certificate)) []string {
		pair, of := by.node("node", change)
		cert, key := files(t, pair, of)
		return []string{"--bus-cert", cert, "--bus-key", key}
	}
	good := node(ours, nil)
	addresses := freeport.Addresses(t, 3)
	flags := clusterFlags(t, addresses)
	for says, more := range map[string][]string{
		"--bus-cert, --bus-key and --bus-ca go together": good,
		"--bus-cert and --bus-key go together":           {"--bus-cert", good[1], "--bus-ca", in("ca.pem")},
		"signed by unknown authority":                    append(node(others, nil), "--bus-ca", in("ca.pem")),
		"is not valid now, but from": append(node(ours, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
			"--bus-ca", in("ca.pem")),
		"serverAuth and clientAuth": append(node(ours, func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }), "--bus-ca", in("ca.pem")),
		"no such file":              append(good, "--bus-ca", in("none.pem")),
		"no certificate in it":      append(good, "--bus-ca", good[3]),
	} {
		cmd := newHome(t).stet(append(append(flags[0], "--no-workspace"), more...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%s: %d: %s", says, cmd.ProcessState.ExitCode(), out)
		}
	}
	cmd := newHome(t).stet("serve", "--no-workspace", "--listen", "127.0.0.1:0", "--bus", "nats://127.0.0.1:1", "--bus-ca", in("ca.pem"))
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "or with --bus tls://") {
		t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), out)
	}

	newHome(t).start(t, append(append(append(flags[0], "--no-workspace"), good...), "--bus-ca", in("ca.pem"))...).tells(t, "waiting for the servers")
	stranger := newHome(t).start(t, append(append(append(flags[1], "--no-workspace"), node(others, nil)...), "--bus-ca", in("both.pem"))...)
	stranger.tells(t, `TLS route handshake error: .*certificate`)
}

// A remote NATS server is reached over TLS, with a client certificate.
func TestServeBusTLS(t *testing.T) {
	ours := newSigner(t, "cluster")
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	write(t, ca, string(ours.pem))
	pair, of := ours.node("nats", nil)
	own, err := tls.X509KeyPair(pair, of)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ours.pem)
	far, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert},
	})
	if err != nil {
		t.Fatal(err)
	}
	far.Start()
	defer far.WaitForShutdown()
	defer far.Shutdown()
	if !far.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not up")
	}
	address := "tls://" + far.Addr().String()
	cert, key := clientFiles(t, ours, "stet", "")
	newHome(t).serve(t, "--no-workspace", "--bus", address, "--bus-ca", ca, "--bus-cert", cert, "--bus-key", key)
	for says, flags := range map[string][]string{
		"with --bus-cert":   {"--bus-ca", ca},
		"unknown authority": {"--bus-cert", cert, "--bus-key", key},
	} {
		cmd := newHome(t).stet(append([]string{"serve", "--no-workspace", "--listen", "127.0.0.1:0", "--bus", address}, flags...)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v: %s", says, err, out)
		}
	}
}
