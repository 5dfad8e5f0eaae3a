package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// doctorCommand is stet doctor.
type doctorCommand struct {
	command
	json, yes, mine, serves bool
	checks                  []check
}

// check is the result of one check by doctor.
type check struct {
	Name  string `json:"check"`
	State string `json:"state"` // checkOK, checkWarning or checkProblem
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // advice for the person
}

const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkProblem = "problem"
)

// checkTime is the time limit for an answer.
const checkTime = 5 * time.Second

// recordedDays is the number of recorded days that doctor checks.
const recordedDays = 7

func newDoctor(p *program) *cobra.Command {
	c := &doctorCommand{}
	names := agents.ComparedAgents()
	cmd := p.runs(&cobra.Command{
		Use:   "doctor [flags] [" + strings.Join(names, "|") + "]",
		Short: "Check whether everything works, and say what to do",
		Long: `Check the installation, the configuration, the rules of the file tools in this directory,
the state directory, the agents on this machine, the proxy, the way to the providers,
and what the proxy has recorded in the last seven days. Each line says what was found
and, if something is wrong, what to do.
Nothing is changed. The providers are asked without a key.

With an agent, find out what the agent leaves out because stet is there. The agent is
asked one question, twice directly and once in each way through stet, and its first
requests are compared: every header, beta and tool, and every key of the body. It
runs in an empty directory, with a home directory and a key that are not yours, and
with an MCP server of ` + strconv.Itoa(ownTools) + ` tools. A model on this machine answers. On Linux the agent
has no network where the system allows that; elsewhere its variables (HTTPS_PROXY) lead
it to this machine. All that it wrote is removed. --mine gives it your MCP servers in
place of that one, and so starts them.

The exit code is 1 if there is a problem, or a difference that stet does not know.
Warnings alone end with 0.`,
		Example: `stet doctor
stet doctor claude
stet doctor codex --mine --yes`,
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return agentArg(cmd, args, names)
			}
			if c.yes || c.mine {
				return usage(cmd, errors.New("--yes and --mine belong to an agent: name it"))
			}
			return nil
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.BoolVar(&c.yes, "yes", false, "with an agent: run it without asking")
	f.BoolVar(&c.mine, "mine", false, "with an agent: give it your own MCP servers")
	f.BoolVar(&c.serves, "serve-tools", false, "be the MCP server that the agent gets")
	_ = f.MarkHidden("serve-tools") // there is such a flag
	return cmd
}

func (c *doctorCommand) Run(ctx context.Context) error {
	switch {
	case c.serves:
		return serveTools(ctx)
	case len(c.args) > 0:
		return c.agent(ctx, c.args[0])
	}
	c.look(ctx)
	problems := 0
	for _, k := range c.checks {
		if k.State == checkProblem {
			problems++
		}
	}
	if c.json {
		if err := c.printJSON(struct {
			Checks []check `json:"checks"`
		}{c.checks}); err != nil {
			return err
		}
	} else {
		c.print(c.out)
	}
	if problems > 0 {
		return fmt.Errorf("%d of %d checks found a problem", problems, len(c.checks))
	}
	return nil
}

// look makes all checks.
func (c *doctorCommand) look(ctx context.Context) {
	c.thisProgram()
	o := c.configuration()
	if o != nil {
		c.rules(ctx)
	}
	c.stateDirectory()
	c.agents(ctx, o)
	if o != nil {
		c.proxy(ctx, o)
		c.guarded(ctx, o)
		c.providers(ctx, o)
		c.recorded(ctx, o)
	}
	c.reads(ctx, o)
}

func (c *doctorCommand) print(w io.Writer) {
	for _, k := range c.checks {
		fmt.Fprintf(w, "%-8s %-13s %s\n", k.State, k.Name, k.Found)
		if k.Do != "" {
			fmt.Fprintf(w, "%22s %s\n", "->", k.Do)
		}
	}
}

func (c *doctorCommand) found(state, name, do, format string, args ...any) {
	c.checks = append(c.checks, check{Name: name, State: state, Found: fmt.Sprintf(format, args...), Do: do})
}

// thisProgram checks this program, and finds others of its name.
func (c *doctorCommand) thisProgram() {
	self, err := os.Executable()
	if err != nil {
		c.found(checkWarning, "program", "", "stet %s, at a path that is not known: %v", longVersion(), err)
		return
	}
	own, err := os.Stat(self)
	var others []string
	for _, dir := range filepath.SplitList(c.getenv("PATH")) {
		path := filepath.Join(dir, filepath.Base(self))
		if info, there := os.Stat(path); there == nil && err == nil && !os.SameFile(own, info) && !info.IsDir() && !npmLauncher(path, self) {
			others = append(others, path)
		}
	}
	if len(others) > 0 {
		c.found(checkWarning, "program", "remove the one that you do not want: agents start stet by its name", "stet %s at %s, and another one at %s",
			longVersion(), self, strings.Join(others, ", "))
		return
	}
	c.found(checkOK, "program", "", "stet %s at %s", longVersion(), self)
}

// npmLauncher reports whether path is the launcher of npm's package, which starts the program self. The package's own program is
// next to it or below it.
func npmLauncher(path, self string) bool {
	file, err := filepath.EvalSymlinks(path)
	if err != nil || filepath.Base(file) != "stet.js" {
		return false
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return strings.HasPrefix(self, filepath.Dir(filepath.Dir(file)))
}

// configuration reads the configuration; nil if it cannot be read.
func (c *doctorCommand) configuration() *config.Config {
	o, err := c.settings("")
	if err != nil {
		c.found(checkProblem, "configuration", "correct it: most commands do not run until then", "%v", err)
		return nil
	}
	var set []string
	for _, s := range o.Settings() {
		if s.From != config.FromDefault {
			set = append(set, s.Key+" ("+s.From+")")
		}
	}
	c.found(checkOK, "configuration", "", "policy %s; set: %s", o.Policy, cmp.Or(strings.Join(set, ", "), "nothing, every key has its default"))
	return o
}

// stateDirectory checks stet's state directory.
func (c *doctorCommand) stateDirectory() {
	dir, err := c.stateDir()
	if err != nil {
		c.found(checkProblem, "state", "set HOME, or XDG_STATE_HOME", "%v", err)
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.found(checkOK, "state", "", "%s does not exist yet; the first command that records something makes it", dir)
	case err != nil:
		c.found(checkProblem, "state", "make it a directory that you can write to", "%v", err)
	case !info.IsDir():
		c.found(checkProblem, "state", "move that file away: it has to be a directory", "%s is a file", dir)
	case !writable(dir):
		c.found(checkProblem, "state", "make it yours, with chown and chmod u+rwx: nothing is recorded until then", "%s cannot be written to", dir)
	case info.Mode().Perm()&0o077 != 0 && hasModes:
		c.found(checkWarning, "state", "chmod 700 "+dir, "%s can be read by others", dir)
	default:
		c.found(checkOK, "state", "", "%s", dir)
	}
}
