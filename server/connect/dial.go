package connect

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/stet-dev/stet/internal/httpguard"
)

// dialTime is the time limit for reaching a host, or for the answer of the HTTP proxy that leads there.
const dialTime = 30 * time.Second

// maxAnswer is how many bytes an HTTP proxy may answer to CONNECT.
const maxAnswer = 1 << 20

// refusal is the reason why a target is not reached.
type refusal struct{ why string }

func (e *refusal) Error() string { return e.why }

// belowTLS are the ports below 1024 at which protocols begin with TLS. A port from 1024 on may have any protocol, so there the first
// bytes decide.
var belowTLS = map[int]bool{443: true, 465: true, 563: true, 636: true, 853: true, 989: true, 990: true, 992: true, 993: true, 994: true, 995: true}

// checkTarget returns the host and the port of HOST:PORT, or why no tunnel leads there.
func checkTarget(target string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(target)
	if err != nil || host == "" {
		return "", 0, &refusal{"the target is not HOST:PORT"}
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, &refusal{"the port is not a number from 1 to 65535"}
	}
	if port < 1024 && !belowTLS[port] {
		return "", 0, &refusal{fmt.Sprintf("port %d is not a TLS port", port)}
	}
	if ip, err := netip.ParseAddr(host); nameOf(host) == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return "", 0, &refusal{"this machine itself is reached without a proxy: add " + host + " to NO_PROXY"}
	}
	return host, port, nil
}

// notReached returns why a host that has this address is not reached; "": it is. A name may lead into a private network: it is the name of
// a server there, whose certificate the client checks. An address itself says nothing of the kind.
func notReached(host string, ip netip.Addr) string {
	_, notAddress := netip.ParseAddr(host)
	switch ip = httpguard.LeadsTo(ip); {
	case ip.IsLoopback(), ip.IsUnspecified():
		return fmt.Sprintf("%s is this machine itself, at %s", host, ip)
	case !ip.IsGlobalUnicast(): // the neighbours of one link, and all that is not one machine
		return fmt.Sprintf("%s has the local address %s", host, ip)
	case notAddress == nil && !httpguard.Public(ip):
		return fmt.Sprintf("%s is a private address", ip)
	}
	return ""
}

// dial connects to a host for a tunnel: through the person's own HTTP proxy if there is one for it, and else directly.
func (p *Proxy) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	address := net.JoinHostPort(host, strconv.Itoa(port))
	through, err := p.config.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	switch {
	case err != nil:
		return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
	case through != nil:
		return p.dialThrough(ctx, through, address)
	case p.config.Direct != nil && p.config.Direct(host):
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	d := net.Dialer{ControlContext: func(_ context.Context, _, at string, _ syscall.RawConn) error {
		// Here the name is resolved: it cannot lead to another address after this check.
		to, err := netip.ParseAddrPort(at)
		if err != nil {
			return err
		}
		if why := notReached(host, to.Addr()); why != "" {
			return &refusal{why + ": if you want to reach it, add " + host + " to NO_PROXY, and start again"}
		}
		return nil
	}}
	return d.DialContext(ctx, "tcp", address)
}

// dialThrough connects to an address through an HTTP proxy.
func (p *Proxy) dialThrough(ctx context.Context, proxy *url.URL, address string) (_ net.Conn, err error) {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	}
	if proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, fmt.Errorf("HTTPS_PROXY: tunnels cannot go through a proxy of the kind %q: want http or https", proxy.Scheme)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	if proxy.Scheme == "https" {
		secured := tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), RootCAs: p.config.RootCAs})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
		}
		conn = secured
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		ask.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := ask.Write(conn); err != nil {
		return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
	}
	read := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	answer, err := http.ReadResponse(read, ask)
	if err != nil {
		return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
	}
	err = ProxyRefuses(ctx, proxy, ask, answer)
	switch {
	case err != nil:
		return nil, err
	case read.Buffered() > 0:
		return nil, errors.New("HTTPS_PROXY: the host speaks before the client, so it is no TLS")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return conn, nil
}

// ProxyRefuses returns the error for the answer of the person's own HTTP proxy to CONNECT. It is a http.Transport.OnProxyConnectResponse: a
// transport itself would say only the words of the status, and not whose they are.
func ProxyRefuses(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return fmt.Errorf("HTTPS_PROXY: the proxy %s answers %q", proxy.Host, answer.Status)
}
