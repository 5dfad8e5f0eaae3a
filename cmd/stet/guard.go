package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/socket"
	"github.com/stet-dev/stet/cmd/stet/internal/tokenfile"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/guard"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/store"
)

// guardCommand is stet guard.
type guardCommand struct {
	command
	project, remove, closed, yes, dry bool
}

func newGuard(p *program) *cobra.Command {
	c := &guardCommand{}
	names := agents.GuardedAgents()
	cmd := p.runs(&cobra.Command{
		Use:   "guard " + strings.Join(names, "|"),
		Short: "Record what an agent does with its own tools, so that it can be undone",
		Long: `Install hooks into an agent's configuration. They tell stet of each call of the agent's
own tools, the shell included. What a call changed in the workspace becomes one entry of
the audit trail, which "stet undo" takes back. Rules of the configuration can allow or
deny calls, by tool, path or command; without a rule the agent's own rules decide.

The hooks need "stet service install" or a running "stet proxy". If it does not answer, the agent
goes on as if there were no guard; with --closed its calls are refused instead, where
the agent can do that.`,
		Example: `stet guard claude
stet guard claude --project --closed
stet guard status
stet guard claude --remove`,
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			return agentArg(cmd, args, names)
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.project, "project", false, "only for the project in the working directory, in a file that stays on this machine")
	f.BoolVar(&c.remove, "remove", false, "take out the hooks, and nothing else")
	f.BoolVar(&c.closed, "closed", false, "refuse the agent's calls if the guard does not answer")
	f.BoolVar(&c.yes, "yes", false, "write without asking")
	f.BoolVar(&c.dry, "dry-run", false, "only show what would change")
	status := &guardCommand{}
	cmd.AddCommand(p.runs(&cobra.Command{
		Use: "status", Short: "Say which agents are guarded, and what the guard saw last", Example: "stet guard status", Args: noArgs,
	}, &status.command, status.status))
	return cmd
}

// guardDir returns the directory of the guard's state: its token, and the contents that it keeps.
func (p *program) guardDir() (string, error) {
	state, err := p.stateDir()
	return filepath.Join(state, "guard"), err
}

// keptContents opens the contents that the guard keeps.
func (p *program) keptContents() (*snapshot.Store, error) {
	dir, err := p.guardDir()
	if err != nil {
		return nil, err
	}
	return snapshot.OpenStore(filepath.Join(dir, "kept"))
}

// guardToken returns the secret that hooks show to the guard. It is made when it is first needed.
func (p *program) guardToken() (string, error) {
	dir, err := p.guardDir()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "token")
	token, err := tokenfile.Once(name, []byte(rand.Text()))
	switch {
	case err != nil:
		return "", config.StateError(err)
	case len(token) < 20:
		return "", fmt.Errorf("%s holds no token: remove it, and run \"stet guard\" for each agent again", name)
	}
	return string(token), nil
}

// guardURL returns the address of the guard, which the proxy serves.
func guardURL(listen string) string { return "http://" + listen + "/guard" }

func (c *guardCommand) Run(ctx context.Context) error {
	o, err := c.userSettings()
	if err != nil {
		return err
	}
	agent, _ := agents.GuardOf(c.args[0])
	m, project := c.machine(), ""
	if c.project && !agent.Local {
		return c.usage(fmt.Errorf("%s keeps a project's hooks in a file that people commit, and stet's have a token and a path of this machine: leave --project out", agent.Name))
	}
	if c.project {
		project = c.dir
	}
	var edit agents.Edit
	if c.remove {
		edit, err = agent.Remove(m, project)
	} else {
		if c.closed && !agent.CanClose {
			return c.usage(fmt.Errorf("%s cannot refuse calls when a hook fails: leave --closed out", agent.Name))
		}
		var token, self string
		if token, err = c.guardToken(); err != nil {
			return err
		}
		if self, err = os.Executable(); err != nil {
			return err
		}
		edit, err = agent.Install(m, project, agents.Hooks{
			URL: guardURL(o.Listen), Token: token, Program: ownPath(self), Closed: c.closed, Wait: seconds(o.AskWait), Pause: seconds(o.AskPause),
		})
	}
	switch {
	case errors.Is(err, agents.ErrNoHome):
		return misconfigured(err)
	case err != nil:
		return err
	case !edit.Changes():
		c.say("nothing to change in %s", edit.File)
		return nil
	}
	if err := c.agree(edit); err != nil || c.dry {
		return err
	}
	kept, err := edit.Write()
	if err != nil {
		return err
	}
	if c.project && !c.remove {
		if err := c.noteProject(c.dir); err != nil {
			return err
		}
	}
	c.say("written: %s", edit.File)
	if kept != "" {
		c.say("what it held is in %s", kept)
	}
	if c.remove {
		return nil
	}
	c.say("%s", agent.Fails(c.closed))
	if err := c.guardError(ctx, o.Listen); err != nil {
		c.say("%v", err)
	}
	c.say(`"stet undo --last" takes back what the agent's last call changed`)
	return nil
}

// agree shows the difference and asks whether to write it. The token is not shown.
func (c *guardCommand) agree(e agents.Edit) error {
	token, _ := c.guardToken()
	hide := func(b []byte) string { return string(bytes.ReplaceAll(b, []byte(token), []byte("…"))) }
	c.say("%s would change:", e.File)
	fmt.Fprint(c.err, diff.Lines(hide(e.Old), hide(e.New), diff.Options{}).Unified(e.File, e.File))
	if c.yes || c.dry {
		return nil
	}
	return c.confirm("Write it?", "nothing was written", "add --yes")
}

// confirm asks the person a question that is answered by y or n. Everything but y is an error, which says what no means.
func (c *command) confirm(question, no, alone string) error {
	if !isTerminal(c.in) {
		return &exitError{code: exitAlone, err: errors.New("a person has to agree, and this is no terminal: " + alone)}
	}
	fmt.Fprintf(c.err, "%s [y/N] ", question)
	line := strings.ToLower(strings.TrimSpace(readLine(c.in)))
	if line != "y" && line != "yes" {
		return errors.New(no)
	}
	return nil
}

// readLine reads to the end of a line, and no byte more: what follows answers the next question.
func readLine(r io.Reader) string {
	var line []byte
	for b := make([]byte, 1); len(line) < 1000; {
		if n, err := r.Read(b); n == 0 && err != nil || n == 1 && b[0] == '\n' {
			break
		} else if n == 1 {
			line = append(line, b[0])
		}
	}
	return string(line)
}

func (c *guardCommand) status(ctx context.Context) error {
	o, err := c.userSettings()
	if err != nil {
		return err
	}
	for _, name := range agents.GuardedAgents() {
		agent, _ := agents.GuardOf(name)
		for _, project := range []string{"", c.dir} {
			if project != "" && !agent.Local {
				continue
			}
			is, closed := agent.Installed(c.machine(), project)
			where := "for your user"
			if project != "" {
				where = "for this project"
			}
			switch {
			case is && closed:
				fmt.Fprintf(c.out, "%s: guarded %s; its calls are refused if the guard does not answer\n", name, where)
			case is:
				fmt.Fprintf(c.out, "%s: guarded %s; it goes on if the guard does not answer\n", name, where)
			case project == "":
				fmt.Fprintf(c.out, "%s: not guarded\n", name)
			}
		}
	}
	if how := c.howToGuard(); how != "" {
		fmt.Fprintln(c.out, strings.TrimPrefix(how, "; "))
	}
	if err := c.guardError(ctx, o.Listen); err != nil {
		fmt.Fprintln(c.out, err)
	} else {
		fmt.Fprintf(c.out, "the guard answers at %s\n", o.Listen)
	}
	return c.lastSeen(ctx)
}

// lastSeen prints the newest call of each agent.
func (c *guardCommand) lastSeen(ctx context.Context) error {
	trail, err := c.openTrail(ctx)
	if err != nil {
		return nil // nothing is recorded yet
	}
	entries, err := trail.Entries(ctx, record.TrailQuery{Kinds: []record.Kind{record.Call, record.Changed}, Limit: 1000, Last: true})
	seen := map[string]bool{}
	for _, e := range slices.Backward(entries) {
		if _, known := agents.GuardOf(e.Client); known && !seen[e.Client] {
			seen[e.Client] = true
			fmt.Fprintf(c.out, "%s: last call seen %s, %s\n", e.Client, e.Time.Local().Format(time.DateTime), e.Tool)
		}
	}
	return errors.Join(err, trail.Close())
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// guardServer is the guard as a part of the proxy's server. People answer its questions over a socket of the state directory: by "stet approve", and
// on the page of "stet serve".
type guardServer struct {
	http.Handler
	guard   *guard.Guard
	trail   store.Store
	log     io.Closer
	stop    context.CancelFunc
	ticking sync.WaitGroup
}

// openGuard makes the guard's part of a server.
func (p *program) openGuard(ctx context.Context, o *config.Config) (_ *guardServer, err error) {
	log, logFile, err := config.OpenLog(p.logFile(o.Log))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, logFile.Close())
		}
	}()
	token, err := p.guardToken()
	if err != nil {
		return nil, err
	}
	kept, err := p.keptContents()
	if err != nil {
		return nil, err
	}
	trail, err := store.Open(ctx, p.storeOf(o))
	if err != nil {
		return nil, fmt.Errorf("audit trail: %w", err)
	}
	last, now := p.lastAlive(o.Listen), time.Now()
	if err := p.sayAlive(o.Listen, now); err != nil {
		return nil, errors.Join(err, trail.Close())
	}
	state, err := p.stateDir()
	if err != nil {
		return nil, errors.Join(err, trail.Close())
	}
	secret, err := tokenfile.LoginSecret(state) // of the page of stet serve, which also has these questions
	if err != nil {
		return nil, errors.Join(err, trail.Close())
	}
	listener, err := socket.ListenGuard(state)
	if err != nil {
		return nil, errors.Join(err, trail.Close())
	}
	queue := new(approval.Queue)
	g := guard.New(guard.Config{
		Off:      func(ctx context.Context) guard.Off { return p.offSince(ctx, last, now) },
		Costs:    p.coldCosts(trail, o, log),
		Approver: queue, Wait: seconds(o.AskWait), Pause: seconds(o.AskPause),
		Own: append(agents.HookFiles(p.machine()), snapshot.Resolve(state), filepath.Dir(p.userConfig())), Hooks: p.machine().IsHookFile,
		Store: kept, Trail: trail, Log: log, Dialects: o.Dialects, Control: workspace.IsControl, Home: p.home(),
		Rules: func(workspace string) (*policy.Policy, error) {
			c, err := config.Load(config.Source{Dir: workspace, Workspace: workspace, Home: p.home(), User: p.userConfig(), Getenv: p.getenv})
			if err != nil {
				return nil, err
			}
			rules, err := c.FilePolicy()
			return &rules, err
		},
	})
	s := &guardServer{Handler: g.Handler(token, agents.GuardForms()), guard: g, trail: trail, log: logFile}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.ticking.Go(func() {
		often := time.NewTicker(aliveEvery)
		defer often.Stop()
		for {
			if err := p.sayAlive(o.Listen, g.Oldest()); err != nil {
				log.Warn("guard", "err", err)
			}
			select {
			case <-often.C:
			case <-ctx.Done():
				return
			}
		}
	})
	page := &web.Handler{Queue: queue, Version: version(), Log: log}
	s.ticking.Go(func() {
		defer listener.Remove()
		if err := page.ServeLocal(ctx, listener); err != nil {
			log.Error("guard: questions", "err", err)
		}
	})
	s.ticking.Go(func() { o.Notify.Follow(ctx, queue, true, secret, log) })
	s.ticking.Go(func() {
		daily := time.NewTicker(24 * time.Hour)
		defer daily.Stop()
		for o.RecordDays > 0 {
			if n, err := g.Prune(time.Now().AddDate(0, 0, -o.RecordDays)); err != nil || n > 0 {
				log.Info("guard: old contents are gone", "contents", n, "err", err)
			}
			select {
			case <-daily.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return s, nil
}

func (s *guardServer) Close() error {
	s.guard.Withdraw()
	s.stop()
	s.ticking.Wait()
	return errors.Join(s.guard.Close(), s.trail.Close(), s.log.Close())
}

// hookWait is how long a hook waits for the guard, besides the wait for a person. It is below the time that the agents give it.
const hookWait = 25 * time.Second

// runHook is stet hook AGENT EVENT: it hands an agent's event to the guard and prints the answer. An agent takes anything else on standard output for
// an answer, too, so nothing else is printed there. If the guard does not answer, nothing is printed.
func (p *program) runHook(ctx context.Context, agent, event string) error {
	o, err := p.userSettings()
	if err != nil {
		return err
	}
	token, err := p.guardToken()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hookWait+seconds(max(o.AskWait, o.AskPause)))
	defer cancel()
	body, err := askGuard(ctx, guardURL(o.Listen)+"/"+agent+"/"+event, token, p.in)
	if err == nil {
		_, err = p.out.Write(body)
	}
	return err
}

// hook returns the exit code of stet hook AGENT EVENT. It is never 2, by which a hook denies, also where the configuration is wrong.
func (p *program) hook(ctx context.Context, agent, event string) int {
	if err := p.runHook(ctx, agent, event); err != nil {
		fmt.Fprintln(p.err, "stet:", err)
		return exitFailed
	}
	return 0
}
