package proxyserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/server/proxy"
)

const (
	quickEnd   = time.Second            // a process that lived shorter is started again only after restartGap
	restartGap = 500 * time.Millisecond // so that a proxy that cannot live takes no whole processor
	killAfter  = 10 * time.Second       // how long a process may take to end, after its grace
	maxWords   = 4 << 10                // bytes that are kept of what a process prints
)

// errEarly is the error of a proxy that ended before it listened. It has said why.
var errEarly = errors.New("the proxy does not start")

// Task is what a proxy in a process of its own does. Its listeners are inherited: file 3 for the proxy, file 4 for the forward proxy.
type Task struct {
	Settings  []byte // config.Config.Encode
	Root      string // the workspace
	Authority []byte // connect.Authority.Text of the forward proxy; nil: there is none
	Password  string // of the clients of the forward proxy
}

// Order is a message to such a process. A process whose orders end has lost its parent. Then it serves as long as the agent lives, or a
// process that the agent started.
type Order struct {
	Task  *Task          `json:",omitempty"`
	Agent int            `json:",omitempty"` // the agent's process id
	Close *time.Duration `json:",omitempty"` // end; running requests may take so long
	Stay  bool           `json:",omitempty"` // serve on without the parent, as long as a process has the address of the proxy
	Cut   bool           `json:",omitempty"` // end at once
}

// Said is a message from such a process.
type Said struct {
	Ready  bool          `json:",omitempty"` // it listens
	Stays  bool          `json:",omitempty"` // it follows Order.Stay; this is its last message
	Totals *proxy.Totals `json:",omitempty"` // of this process, so far
	Print  string        `json:",omitempty"` // what a person reads on standard error
	Failed string        `json:",omitempty"` // what went wrong at its end
}

// Attended is a proxy in a process of its own. If the process dies, another one takes its place and the same listeners, so that no
// connection is refused; requests wait meanwhile.
type Attended struct {
	command  func() *exec.Cmd
	files    []*os.File
	task     Task
	settings *config.Config
	stderr   io.Writer
	ready    chan error // the outcome of the first process
	done     chan struct{}
	hurry    chan struct{} // closed when it ends
	stays    chan struct{} // closed when the process serves on without this one

	mu      sync.Mutex
	started bool // the first process was ready
	ending  bool
	orders  *json.Encoder // to the running process; nil: none
	running *os.Process
	agent   int
	earlier proxy.Totals // of the processes before
	now     proxy.Totals
	deaths  int
	words   []byte // the beginning of what the latest process printed on standard error
	failed  string
}

// Attend starts a proxy in a process of its own. command returns the command line that serves a Task. The files are those of the
// listeners; Close closes them.
func Attend(ctx context.Context, command func() *exec.Cmd, task Task, o *config.Config, stderr io.Writer, files ...*os.File) (*Attended, error) {
	a := &Attended{
		command: command, files: files, task: task, settings: o, stderr: stderr,
		ready: make(chan error, 1), done: make(chan struct{}), hurry: make(chan struct{}), stays: make(chan struct{}),
	}
	go a.run()
	select {
	case err := <-a.ready:
		if err != nil {
			return nil, errors.Join(err, a.Close(ctx, 0))
		}
		return a, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), a.Close(ctx, 0))
	}
}

// run keeps a process running until Close.
func (a *Attended) run() {
	defer close(a.done)
	defer func() {
		for _, f := range a.files {
			_ = f.Close()
		}
	}()
	for {
		began := time.Now()
		err := a.live()
		a.mu.Lock()
		ending := a.ending
		a.orders, a.running = nil, nil
		a.earlier, a.now = a.earlier.Add(a.now), proxy.Totals{}
		if !ending {
			a.deaths++
		}
		started := a.started
		a.mu.Unlock()
		if !started {
			a.ready <- cmp.Or(err, errEarly)
		}
		if ending || !started {
			return
		}
		if time.Since(began) < quickEnd {
			select {
			case <-a.hurry:
			case <-time.After(restartGap):
			}
		}
	}
}

// live runs one process to its end.
func (a *Attended) live() error {
	cmd := a.command()
	cmd.ExtraFiles, cmd.Stderr = a.files, a
	process.Apart(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	a.mu.Lock()
	if a.ending {
		a.mu.Unlock()
		return nil
	}
	if err := cmd.Start(); err != nil {
		a.mu.Unlock()
		return fmt.Errorf("start the proxy: %w", err)
	}
	a.orders, a.running, a.words = json.NewEncoder(in), cmd.Process, nil
	_ = a.orders.Encode(Order{Task: &a.task, Agent: a.agent}) // a process that is gone is seen below
	a.mu.Unlock()
	for said := json.NewDecoder(out); ; {
		var s Said
		if said.Decode(&s) != nil {
			break
		}
		a.hear(s)
	}
	_ = cmd.Wait() // it is reported how it ended
	return nil
}

// hear takes a message of the process.
func (a *Attended) hear(s Said) {
	a.mu.Lock()
	if s.Totals != nil {
		a.now = *s.Totals
	}
	a.failed = s.Failed
	if s.Print != "" && a.agent == 0 { // the terminal is the agent's afterwards
		_, _ = io.WriteString(a.stderr, s.Print)
	}
	if s.Stays {
		close(a.stays)
	}
	first := s.Ready && !a.started
	a.started = a.started || s.Ready
	a.mu.Unlock()
	if first {
		a.ready <- nil
	}
}

// Write implements io.Writer for the standard error of a process: a panic.
func (a *Attended) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.words = append(a.words, b[:min(len(b), maxWords-len(a.words))]...)
	return len(b), nil
}

// AgentIs says which process is the agent.
func (a *Attended) AgentIs(pid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agent = pid
	a.order(Order{Agent: pid})
}

// order sends an order to the running process. The caller holds the lock.
func (a *Attended) order(o Order) {
	if a.orders != nil {
		_ = a.orders.Encode(o) // a process that is gone needs none
	}
}

// Summary returns the totals of all processes.
func (a *Attended) Summary() report.Summary {
	a.mu.Lock()
	defer a.mu.Unlock()
	return report.Summary{Totals: a.earlier.Add(a.now), Policy: a.settings.Policy, Observe: a.settings.Observe}
}

// Deaths returns how often the process ended by itself, and the beginning of what it said last.
func (a *Attended) Deaths() (n int, said string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(a.words)), "\n")
	return a.deaths, line
}

// end gives the process its last order. From now on no other one takes its place.
func (a *Attended) end(o Order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ending {
		a.ending = true
		close(a.hurry)
	}
	a.order(o)
}

// Leave lets the process serve on when this one ends. It reports false if the process has ended, or does not answer before ctx ends.
// Then Close must be called.
func (a *Attended) Leave(ctx context.Context) bool {
	a.end(Order{Stay: true})
	select {
	case <-a.stays:
		return true
	case <-a.done:
	case <-ctx.Done():
	case <-time.After(killAfter):
	}
	return false
}

// Close ends the process, as Server.Close ends a server.
func (a *Attended) Close(ctx context.Context, grace time.Duration) error {
	a.end(Order{Close: &grace})
	kill := time.NewTimer(grace + killAfter)
	defer kill.Stop()
	cut := ctx.Done()
	for {
		select {
		case <-a.done:
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.failed != "" {
				return errors.New(a.failed)
			}
			return nil
		case <-cut:
			cut = nil
			a.mu.Lock()
			a.order(Order{Cut: true})
			a.mu.Unlock()
		case <-kill.C:
			a.mu.Lock()
			if a.running != nil {
				_ = a.running.Kill() // it may just have ended
			}
			a.mu.Unlock()
		}
	}
}
