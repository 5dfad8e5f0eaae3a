package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/server/connect"
)

// wrapping is what stet wrap runs besides the agent.
//
// The proxy is a process of its own where the system can hand over listeners. So it can die, and the agent's requests wait until another
// one serves them. The forward proxy is in the process of wrap itself: its tunnels stay open meanwhile.
type wrapping struct {
	run     *agents.Redirect // the agent's command
	proxy   runningProxy
	forward *connect.Proxy // nil: the agent asks the proxy at a base URL
	at      []net.Listener // of the proxy, and of forward
	users   []int          // processes for which the proxy stays
}

// How long wrap waits for the processes that the agent started, and how often it looks.
const (
	usersEnd = 500 * time.Millisecond
	usersGap = 50 * time.Millisecond
)

// runningProxy is a proxy, in this process or in another one.
type runningProxy interface {
	Summary() report.Summary
	Close(ctx context.Context, grace time.Duration) error
	AgentIs(pid int)
}

// inProcess is a proxy in this process.
type inProcess struct{ *proxyserver.Server }

func (inProcess) AgentIs(int) {}

// open starts the proxy, and prepares the agent's command.
func (c *wrapCommand) open(ctx context.Context, o *config.Config, m agents.Machine) (_ *wrapping, err error) {
	listener, err := proxyserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wrapping{at: []net.Listener{listener}}
	defer func() {
		if err != nil && w.run != nil {
			w.run.Clean()
		}
		if err != nil {
			w.closeListeners()
		}
	}()
	task := proxyserver.Task{Root: cmp.Or(o.ProjectRoot, c.dir), Password: rand.Text()} // programs of other users cannot use the forward proxy
	var authority *connect.Authority
	if c.forwards(o, m) {
		authority, err = c.forwarded(ctx, w, m, task.Password)
		switch {
		case err == nil:
			task.Authority = authority.Text()
		case o.Via == config.ViaConnect:
			return nil, err
		default:
			c.say("%v: the agent gets a base URL in place of the forward proxy", err)
		}
	}
	if authority == nil {
		w.run = m.Redirect(c.args, "http://"+listener.Addr().String())
		if err := checkFound(w.run, o.Upstream); err != nil {
			return nil, err
		}
	}
	o.Route(w.run.Found)
	if w.proxy, err = c.startWrapped(ctx, o, task, w.at); err != nil {
		return nil, err
	}
	if authority != nil {
		log, _, _ := config.OpenLog(c.logFile(o.Log)) // the proxy has opened it, and said so if it cannot
		w.forward = proxyserver.Forward{Authority: authority, Password: task.Password, NoProxy: c.noProxy(), Roots: c.roots(), Logger: log}.To(listener.Addr().String())
		w.forward.Serve(w.at[1])
	}
	return w, nil
}

// forwarded opens the port of the forward proxy, and prepares the agent's command for it.
func (c *wrapCommand) forwarded(ctx context.Context, w *wrapping, m agents.Machine, password string) (*connect.Authority, error) {
	dir, err := c.stateDir()
	if err != nil {
		return nil, err
	}
	authority, err := proxyserver.OpenAuthority(dir)
	if err != nil {
		return nil, err
	}
	front, err := proxyserver.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.run, err = m.Forward(c.args, "http://stet:"+password+"@"+front.Addr().String(), func(own []byte) (string, error) {
		return proxyserver.TrustFile(dir, "", authority, own)
	})
	if err != nil {
		return nil, errors.Join(err, front.Close())
	}
	w.at = append(w.at, front)
	return authority, nil
}

// address returns the address that the agent has in its environment.
func (w *wrapping) address() string { return w.at[len(w.at)-1].Addr().String() }

// closeListeners closes the listeners of this process; they may be closed already.
func (w *wrapping) closeListeners() {
	for _, l := range w.at {
		_ = l.Close()
	}
}

// forwards decides between the two ways to the model.
func (c *wrapCommand) forwards(o *config.Config, m agents.Machine) bool {
	switch o.Via {
	case config.ViaConnect:
		return true
	case config.ViaBaseURL:
		return false
	}
	host := m.ForwardHost(c.args)
	if host == "" || proxyserver.Named(c.noProxy(), host) {
		return false // the agent would go past the forward proxy
	}
	through, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: host}})
	if err == nil && through == nil {
		return cmp.Or(c.getenv("ALL_PROXY"), c.getenv("all_proxy")) == "" // which tunnels would not use
	}
	return err == nil && (through.Scheme == "http" || through.Scheme == "https")
}

// noProxy returns the person's own list of hosts that are reached without a proxy. Each program reads one of the two variables first.
func (p *program) noProxy() string { return p.getenv("NO_PROXY") + "," + p.getenv("no_proxy") }

// authority returns the authority of this user.
func (p *program) authority() (*connect.Authority, error) {
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	return proxyserver.OpenAuthority(dir)
}

// startWrapped starts the proxy, in a process of its own if the system can hand over listeners.
func (c *wrapCommand) startWrapped(ctx context.Context, o *config.Config, task proxyserver.Task, listeners []net.Listener) (runningProxy, error) {
	var files []*os.File
	for _, l := range listeners {
		f, err := process.HandOver(l.(*net.TCPListener))
		if err != nil {
			return nil, err
		}
		if f == nil {
			s, err := c.serveTask(ctx, o, task, listeners[0])
			return inProcess{s}, err
		}
		files = append(files, f)
	}
	var err error
	if task.Settings, err = o.Encode(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // also after the file was replaced or removed
	}
	return proxyserver.Attend(ctx, func() *exec.Cmd {
		cmd := exec.Command(self, "wrapped")
		cmd.Args[0], cmd.Env, cmd.Dir = os.Args[0], c.env, c.dir
		return cmd
	}, task, o, c.err, files...)
}

// serveTask starts the proxy of a task in this process.
func (p *program) serveTask(ctx context.Context, o *config.Config, task proxyserver.Task, listener net.Listener) (*proxyserver.Server, error) {
	pc := proxyserver.Config{Root: task.Root}
	if task.Authority != nil {
		pc.Agents = proxyserver.HostUpstreams(o, nil)
	}
	return p.startProxy(ctx, o, listener, pc)
}

// Close ends the proxies. If the agent has started processes that still have the address of one, the proxy's own process stays for them.
func (w *wrapping) Close(ctx context.Context) (err error) {
	a, apart := w.proxy.(*proxyserver.Attended)
	for end := time.Now().Add(usersEnd); apart && time.Now().Before(end); time.Sleep(usersGap) {
		if w.users = process.Users(w.address()); len(w.users) == 0 {
			break
		}
	}
	if len(w.users) == 0 || !a.Leave(ctx) {
		w.users, err = nil, w.proxy.Close(ctx, lingering)
	}
	if w.forward != nil {
		w.forward.Close()
	}
	w.closeListeners()
	return err
}

// tell says what a person should know of the run.
func (w *wrapping) tell(say func(string, ...any)) {
	if a, ok := w.proxy.(*proxyserver.Attended); ok {
		if n, said := a.Deaths(); n > 0 {
			say("the proxy ended by itself and was started again, %s: %s", report.Count(n, "time"), said)
		}
	}
	if len(w.users) > 0 {
		say("the proxy stays for what the agent started and still runs, and ends with it: processes %s", strings.Trim(fmt.Sprint(w.users), "[]"))
	}
	if w.forward != nil {
		for _, refused := range w.forward.Refused() {
			say("%s", refused)
		}
	}
}

// wrappedCommand is the proxy of stet wrap, in a process of its own.
type wrappedCommand struct{ command }

func newWrapped(p *program) *cobra.Command {
	c := &wrappedCommand{}
	return p.runs(&cobra.Command{
		Use: "wrapped", Hidden: true, Args: noArgs, Short: "The proxy of stet wrap, which starts it",
	}, &c.command, c.Run)
}

// Run serves the task that the parent orders, until it orders the end. If the parent dies, it goes on as long as the agent lives.
func (c *wrappedCommand) Run(ctx context.Context) error {
	defer process.OutliveReader()()
	orders, reports := json.NewDecoder(c.in), &reporter{to: json.NewEncoder(c.out)}
	c.err = reports
	var first proxyserver.Order
	if err := orders.Decode(&first); err != nil || first.Task == nil {
		return fmt.Errorf("stet wrap starts this: %w", cmp.Or(err, errors.New("no task")))
	}
	o, err := config.Decode(first.Task.Settings)
	if err != nil {
		return err
	}
	listener, err := inherited(3)
	if err != nil {
		return err
	}
	s, err := c.serveTask(ctx, o, *first.Task, listener)
	if err != nil {
		return err
	}
	_ = reports.send(proxyserver.Said{Ready: true}) // a parent that is gone is seen below
	coming := make(chan proxyserver.Order)
	go func() {
		defer close(coming)
		for {
			var next proxyserver.Order
			if orders.Decode(&next) != nil {
				return
			}
			coming <- next
		}
	}()
	grace := c.follow(s, first, coming, reports)
	closing, cut := context.WithCancel(ctx)
	defer cut()
	go func() {
		for next := range coming {
			if next.Cut {
				cut()
			}
		}
	}()
	said := proxyserver.Said{}
	if err := s.Close(closing, grace); err != nil {
		said.Failed = err.Error()
	}
	totals := s.Proxy.Totals()
	said.Totals = &totals
	return reports.send(said)
}

// reporter sends messages to the parent. It may be used concurrently.
type reporter struct {
	mu sync.Mutex
	to *json.Encoder
}

func (r *reporter) send(s proxyserver.Said) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to.Encode(s)
}

// Write implements io.Writer for what the person reads.
func (r *reporter) Write(b []byte) (int, error) {
	return len(b), r.send(proxyserver.Said{Print: string(b)})
}

// follow reports totals and follows orders until the proxy is to end. It returns how long running requests may then take.
func (c *wrappedCommand) follow(s *proxyserver.Server, first proxyserver.Order, coming <-chan proxyserver.Order, reports *reporter) time.Duration {
	last, agent := s.Proxy.Totals(), first.Agent
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case next, ok := <-coming:
			switch {
			case !ok && agent != 0:
				return c.outlive(s, agent, first.Task)
			case !ok:
				return 0
			case next.Agent != 0:
				agent = next.Agent
			case next.Stay:
				now := s.Proxy.Totals()
				_ = reports.send(proxyserver.Said{Totals: &now, Stays: true})
				return c.outlive(s, agent, first.Task)
			case next.Close != nil:
				return *next.Close
			}
		case <-tick.C:
			if now := s.Proxy.Totals(); !reflect.DeepEqual(now, last) {
				last = now
				_ = reports.send(proxyserver.Said{Totals: &now})
			}
		}
	}
}

// outlive serves without the parent, also the tunnels, as long as the agent lives or a process has the address.
func (c *wrappedCommand) outlive(s *proxyserver.Server, agent int, task *proxyserver.Task) time.Duration {
	address := strings.TrimPrefix(s.Base, "http://")
	if authority, err := connect.ParseAuthority(task.Authority); err == nil {
		if front, err := inherited(4); err == nil {
			forward := proxyserver.Forward{Authority: authority, Password: task.Password, NoProxy: c.noProxy(), Roots: c.roots(), Logger: s.Log}.InProcess(s.Proxy)
			defer forward.Close()
			forward.Serve(front)
			address = front.Addr().String()
		}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for process.Alive(agent) || len(process.Users(address)) > 0 {
		<-tick.C
	}
	return lingering
}

// inherited returns the listener in an inherited file.
func inherited(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("stet wrap starts this: %w", err)
	}
	return l, nil
}
