package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/apis"
)

// proxy checks the service, and whether a proxy answers at the address that agents are configured for.
func (c *doctorCommand) proxy(ctx context.Context, o *config.Config) {
	s, err := c.service(o.Listen)
	if err != nil {
		c.found(checkProblem, "proxy", "", "%v", err)
		return
	}
	lasting, _ := c.lasting() // the check agents has reported the error
	at := cmp.Or(s.Address(), o.Listen)
	answering := answers(ctx, at)
	if answering {
		if err := ready(ctx, at); err != nil {
			c.found(checkProblem, "proxy", "look at its log, or start it again", "at http://%s it answers, and cannot work: %v", at, err)
			return
		}
		if status, _, err := get(ctx, "http://"+at+"/v1/models"); err != nil || status == http.StatusBadGateway || status == http.StatusGatewayTimeout {
			c.found(checkWarning, "proxy", "look at the network, and the keys upstream-… of the configuration", "at http://%s it answers, and where it asks no answer comes", at)
			return
		}
	}
	switch installed := s.Address() != ""; {
	case installed && s.Address() != s.Listen:
		c.found(checkWarning, "proxy", "\"stet service install\", and \"stet setup --proxy\" for each agent, move all to the new one",
			"the service is at %s, and the configuration says %s", s.Address(), s.Listen)
	case answering && installed:
		c.found(checkOK, "proxy", "", "the service answers at http://%s", at)
	case answering:
		c.found(checkOK, "proxy", "", "one answers at http://%s; no service starts it", at)
	case installed:
		c.found(checkProblem, "proxy", "\"stet service status\" says more; \"journalctl --user -u stet\" has its messages on Linux", "the service is installed, and does not answer at http://%s", at)
	case len(lasting) > 0:
		c.found(checkProblem, "proxy", "\"stet service install\", or start \"stet proxy\": until then these agents cannot ask their models",
			"none answers at http://%s, and %s asks there", at, strings.Join(lasting.Names(), ", "))
	default:
		c.found(checkOK, "proxy", "", "none runs, and none is needed: \"stet wrap\" starts its own")
	}
}

// ready returns why a proxy at an address cannot work.
func ready(ctx context.Context, address string) error {
	status, text, err := get(ctx, "http://"+address+"/readyz")
	if err == nil && status != http.StatusOK {
		err = errors.New(strings.TrimSpace(text))
	}
	return err
}

// get requests a page.
func get(ctx context.Context, url string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		if name := new(net.DNSError); errors.As(err, &name) {
			return 0, "", errors.New(name.Err)
		}
		for errors.Unwrap(err) != nil { // the URL and the address do not help a person
			err = errors.Unwrap(err)
		}
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	return resp.StatusCode, string(b), err
}

// providers sends each provider a request without a key: any answer shows that requests reach it.
func (c *doctorCommand) providers(ctx context.Context, o *config.Config) {
	o.Route(llm.Upstreams{})
	var all [][2]string // names and URLs
	for _, a := range apis.All() {
		all = append(all, [2]string{a.Name, below(cmp.Or(o.Upstream[a.Name], a.Upstream), a.ListPath)})
	}
	said, failed := make([]string, len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, a := range all {
		asking.Go(func() {
			said[i] = a[0] + " at " + hostOf(a[1])
			_, _, failed[i] = get(ctx, a[1])
		})
	}
	asking.Wait()
	var reached, not []string
	for i, where := range said {
		if failed[i] != nil {
			not = append(not, fmt.Sprintf("%s: %v", where, failed[i]))
		} else {
			reached = append(reached, where)
		}
	}
	if len(not) > 0 {
		c.found(checkWarning, "providers", "check the network, HTTPS_PROXY, and the keys upstream-… of the configuration; ignore providers that you do not use",
			"no answer from %s", strings.Join(not, "; "))
		return
	}
	c.found(checkOK, "providers", "", "an answer from %s", strings.Join(reached, ", "))
}

// below returns the URL of a path below a base URL, which may have a query.
func below(base, path string) string {
	base, query, has := strings.Cut(base, "?")
	if base = strings.TrimRight(base, "/") + path; has {
		base += "?" + query
	}
	return base
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return u.Host
}
