package faults

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/freeport"
)

// BenchmarkCall measures one call of read_file at a time. The first target is one server with SQLite and no bus. The others have
// three servers with one PostgreSQL: the server to which the host is connected, and another one.
func BenchmarkCall(b *testing.B) {
	for _, to := range targets(b)[:3] {
		b.Run(to.name, func(b *testing.B) {
			for b.Loop() {
				to.call(b, 0)
			}
		})
	}
}

// BenchmarkCalls measures calls by eight agents for each processor at once. Its further targets are two and three servers in
// turn, with one host or with a host each.
func BenchmarkCalls(b *testing.B) {
	for _, to := range targets(b) {
		b.Run(to.name, func(b *testing.B) {
			allAgents(b, to, 8)
		})
	}
}

// allAgents makes calls by so many agents for each processor at once.
func allAgents(b *testing.B, to target, agents int) {
	var last atomic.Int64
	b.SetParallelism(agents)
	b.RunParallel(func(p *testing.PB) {
		agent := int(last.Add(1))
		for p.Next() {
			to.call(b, agent)
		}
	})
}

// BenchmarkConfinedCalls measures calls by 24 agents for each processor. Each server may use only STET_FAULTS_QUOTA per cent of
// one processor, like a server on a machine of its own. The limit is a cgroup of version 1, which only root may make. The host,
// the agents and PostgreSQL have no limit.
func BenchmarkConfinedCalls(b *testing.B) {
	percent, err := strconv.Atoi(os.Getenv("STET_FAULTS_QUOTA"))
	if err != nil {
		b.Skip("STET_FAULTS_QUOTA is not a number")
	}
	for _, to := range targets(b) {
		b.Run(to.name, func(b *testing.B) {
			for _, p := range to.servers {
				confine(b, p, percent)
			}
			allAgents(b, to, 24)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// confine limits a program to so many per cent of one processor.
func confine(b *testing.B, p *program, percent int) {
	b.Helper()
	dir := fmt.Sprintf("/sys/fs/cgroup/cpu/stet-faults-%d", p.cmd.Process.Pid)
	put := func(dir, file string, number int) error {
		return os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(number)), 0o600)
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil || os.IsExist(err) {
		err = errors.Join(put(dir, "cpu.cfs_quota_us", percent*1000), put(dir, "cgroup.procs", p.cmd.Process.Pid))
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(put(filepath.Dir(dir), "cgroup.procs", p.cmd.Process.Pid), os.Remove(dir)); err != nil {
			b.Error(err)
		}
	})
}

// target says to which servers calls are made.
type target struct {
	name       string
	bases      []string
	workspaces []string // the host of each is at the server with the same index
	own        bool     // each agent calls the server of its host
	servers    []*program
	token      string
	client     *http.Client
}

func targets(b *testing.B) []target {
	b.Helper()
	c := startCluster(b)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	if err := os.WriteFile(filepath.Join(c.tree, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	var workspaces []string
	for i := range nodes {
		workspaces = append(workspaces, fmt.Sprint("near", i))
		c.hostAt(c.base[i], workspaces[i])
	}

	listen := freeport.Addresses(b, 1)[0]
	alone := c.program("alone", 0, "serve", "--no-workspace", "--listen", listen, "--rate", "0")
	alone.env = append(alone.env, "STET_STORE=", "XDG_STATE_HOME="+filepath.Join(c.dir, "alone"))
	for _, err := range []error{
		os.MkdirAll(filepath.Join(c.dir, "alone", "stet"), 0o700),
		copyFile(filepath.Join(c.state(0), "stet", "tokens.json"), filepath.Join(c.dir, "alone", "stet", "tokens.json")),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	alone.start(b)
	c.within(time.Minute, "the server alone is ready", func() error { return get("http://" + listen + "/readyz") })
	c.hostAt("http://"+listen, workspaces[0], "STET_STORE=", "XDG_STATE_HOME="+filepath.Join(c.dir, "alone"))
	all := []target{
		{name: "alone", bases: []string{"http://" + listen}, workspaces: workspaces[:1], servers: []*program{alone}},
		{name: "host's server", bases: c.base[:1], workspaces: workspaces[:1], servers: c.node[:]},
		{name: "another server", bases: c.base[1:2], workspaces: workspaces[:1], servers: c.node[:]},
		{name: "two servers", bases: c.base[:2], workspaces: workspaces[:1], servers: c.node[:]},
		{name: "three servers", bases: c.base[:], workspaces: workspaces[:1], servers: c.node[:]},
		{name: "two servers with a host each", bases: c.base[:2], workspaces: workspaces[:2], servers: c.node[:]},
		{name: "three servers with a host each", bases: c.base[:], workspaces: workspaces, servers: c.node[:]},
		{name: "two servers, each with a host and its agents", bases: c.base[:2], workspaces: workspaces[:2], own: true, servers: c.node[:]},
		{name: "three servers, each with a host and its agents", bases: c.base[:], workspaces: workspaces, own: true, servers: c.node[:]},
	}
	for n := range all {
		to := &all[n]
		to.token, to.client = c.token.agent, client
		for i := range len(to.bases) * len(to.workspaces) {
			c.within(time.Minute, to.name+" reaches the host", func() error { return to.try(i) })
		}
	}
	return all
}

// hostAt connects a host to a server.
func (c *cluster) hostAt(base, workspace string, env ...string) {
	p := c.program("host of "+workspace, nodes, "host", "--workspace", workspace, "--root", c.tree, "--rate", "0", base)
	p.env = append(append(p.env, "STET_TOKEN="+c.token.host), env...)
	p.start(c.t)
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

// try makes one call, which reads a file.
func (t *target) try(agent int) error {
	server := agent % len(t.bases)
	workspace := t.workspaces[agent/len(t.bases)%len(t.workspaces)]
	if t.own {
		workspace = t.workspaces[server]
	}
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/v1/sessions/s%d/tools/read_file?workspace=%s", t.bases[server], agent, workspace), strings.NewReader(`{"path":"a.txt"}`))
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
