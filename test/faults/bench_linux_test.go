package faults

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCall is one call of read_file at a time: at one server with SQLite and no bus; at the server that the host is connected to, of
// three with one PostgreSQL; and at another one of these.
func BenchmarkCall(b *testing.B) {
	for _, to := range targets(b)[:3] {
		b.Run(to.name, func(b *testing.B) {
			for b.Loop() {
				to.call(b, 0)
			}
		})
	}
}

// BenchmarkCalls is the same by sixteen agents at once, and at two and three servers in turn.
func BenchmarkCalls(b *testing.B) {
	for _, to := range targets(b) {
		b.Run(to.name, func(b *testing.B) {
			var agents atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				agent := int(agents.Add(1))
				for p.Next() {
					to.call(b, agent)
				}
			})
		})
	}
}

// target is where calls are made.
type target struct {
	name   string
	bases  []string
	token  string
	client *http.Client
}

func targets(b *testing.B) []target {
	b.Helper()
	c := startCluster(b)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	near := c.program("near", nodes, "host", "--workspace", "near", "--root", c.tree, "--rate", "0", c.base[0])
	near.env = append(near.env, "STET_TOKEN="+c.token.host)
	near.start(b)

	listen := ports(b, 1)[0]
	alone := c.program("alone", 0, "serve", "--no-workspace", "--listen", listen, "--rate", "0")
	alone.env = append(alone.env, "STET_STORE=", "XDG_STATE_HOME="+filepath.Join(c.dir, "alone"))
	for _, err := range []error{
		os.MkdirAll(filepath.Join(c.dir, "alone", "stet"), 0o700),
		copyFile(filepath.Join(c.state(0), "stet", "tokens.json"), filepath.Join(c.dir, "alone", "stet", "tokens.json")),
		os.WriteFile(filepath.Join(c.tree, "a.txt"), []byte("hello\n"), 0o600),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	alone.start(b)
	c.within(time.Minute, "the server alone is ready", func() error { return get("http://" + listen + "/readyz") })
	own := c.program("own", nodes, "host", "--workspace", "near", "--root", c.tree, "--rate", "0", "http://"+listen)
	own.env = append(own.env, "STET_TOKEN="+c.token.host, "STET_STORE=", "XDG_STATE_HOME="+filepath.Join(c.dir, "alone"))
	own.start(b)
	of := func(name string, bases ...string) target { return target{name, bases, c.token.agent, client} }
	all := []target{
		of("alone", "http://"+listen), of("host's server", c.base[0]), of("another server", c.base[1]),
		of("two servers", c.base[0], c.base[1]), of("three servers", c.base[:]...),
	}
	for _, to := range all {
		for i := range to.bases {
			c.within(time.Minute, to.name+" reaches the host", func() error { return to.try(i) })
		}
	}
	return all
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

func (t *target) call(b *testing.B, agent int) {
	if err := t.try(agent); err != nil {
		b.Error(err)
	}
}

// try reads a file.
func (t *target) try(agent int) error {
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/v1/sessions/s%d/tools/read_file?workspace=near", t.bases[agent%len(t.bases)], agent), strings.NewReader(`{"path":"a.txt"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+t.token)
	res, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), "hello") {
		return fmt.Errorf("%s: %s, %w", res.Status, text, err)
	}
	return nil
}
