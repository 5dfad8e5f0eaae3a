package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
)

// isolated is set for the doctor that runs in a network namespace.
const isolated = "STET_DOCTOR_ISOLATED"

// agent is stet doctor AGENT.
func (c *doctorCommand) agent(ctx context.Context, name string) error {
	if c.getenv(isolated) != "" {
		if err := loopbackUp(); err != nil {
			return fmt.Errorf("bring up the loopback device: %w", err)
		}
		return interruptible(ctx, c.compare)
	}
	path, err := process.LookPath(agents.Program(name))
	if err != nil {
		return fmt.Errorf("%w: install %s, or put it on the PATH", err, name)
	}
	if err := c.agree(name, path); err != nil {
		return err
	}
	if ran, err := c.inNamespace(ctx, name); ran {
		return err
	}
	c.say("this system grants no network namespace: HTTPS_PROXY alone keeps %s on this machine", name)
	return interruptible(ctx, c.compare)
}

// agree asks the person whether the agent may be run.
func (c *doctorCommand) agree(name, path string) error {
	if c.yes {
		return nil
	}
	if !isTerminal(c.in) {
		return c.usage(fmt.Errorf("this runs %s several times: add --yes to run it without asking", name))
	}
	servers := map[bool]string{false: "an MCP server of stet", true: "your own MCP servers"}[c.mine]
	c.say("this runs %s about five times, for some minutes in all, with %s, in an empty directory and with a key that is none. Run it? [y/N]", path, servers)
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("it was not run")
	}
	return nil
}

// inNamespace runs the comparison in a program that can reach the loopback device alone. ran is false where the system grants none.
func (c *doctorCommand) inNamespace(ctx context.Context, name string) (ran bool, err error) {
	cmd := exec.CommandContext(ctx, ownCommand(), "doctor", name, "--yes", fmt.Sprintf("--json=%t", c.json), fmt.Sprintf("--mine=%t", c.mine))
	if !isolate(cmd) {
		return false, nil
	}
	cmd.Env, cmd.Dir = append(slices.Clone(c.env), isolated+"=1"), c.dir
	cmd.Stdout, cmd.Stderr = unchecked(c.out), c.err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if cmd.Start() != nil {
		return false, nil
	}
	err = interruptible(ctx, func(context.Context) error { return cmd.Wait() }) // a signal reaches both
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = &exitError{code: max(exit.ExitCode(), 1)}
	}
	return true, err
}

// compare compares the agent's requests, and prints the result.
func (c *doctorCommand) compare(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "stet-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o, err := c.settings("")
	if err != nil {
		return err
	}
	o.Record, o.Observe, o.Holdout, o.Limits = false, false, 0, config.Limits{}
	t := &trialRuns{doctorCommand: c, name: c.args[0], dir: dir, settings: o}
	result, err := t.all(ctx)
	if err != nil {
		return err
	}
	if c.json {
		err = c.printJSON(result)
	} else {
		result.print(c.out)
	}
	n := 0
	for _, w := range result.Ways {
		n += w.unexpected()
	}
	if err == nil && n > 0 {
		err = fmt.Errorf("stet does not know %d of the differences of %s %s: report them, with the output of --json", n, result.Agent, result.Version)
	}
	return err
}

// comparison is the result of stet doctor AGENT.
type comparison struct {
	Agent   string   `json:"agent"`
	Version string   `json:"version"`
	API     string   `json:"api"`
	Servers []string `json:"servers"` // the MCP servers that it started
	Ways    []wayRow `json:"ways"`    // the first one is without stet
}

// wayRow is a way from an agent to its provider.
type wayRow struct {
	Way         string              `json:"way"`
	Variables   []string            `json:"variables,omitempty"` // that keep the agent's own behaviour
	Tools       int                 `json:"tools"`
	Bytes       int                 `json:"bytes"` // of the body
	Differences []agents.Difference `json:"differences,omitempty"`
}

// unexpected counts the differences without a reason.
func (w *wayRow) unexpected() (n int) {
	for _, d := range w.Differences {
		if d.Reason == "" {
			n++
		}
	}
	return n
}

func (r *comparison) print(w io.Writer) {
	fmt.Fprintf(w, "%s %s, %s API, MCP servers: %s\n\n%-20s  tools    bytes\n", r.Agent, r.Version, r.API, strings.Join(r.Servers, ", "), "")
	for i, way := range r.Ways {
		said := "same"
		switch n := len(way.reasons()); {
		case i == 0:
			said = ""
		case n > 0:
			said = "see below"
		}
		line := fmt.Sprintf("%-20s  %5d  %7d  %s", way.Way, way.Tools, way.Bytes, said)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	for _, way := range r.Ways {
		for _, group := range way.reasons() {
			first := group[0]
			if first.Reason == "" {
				first.Reason = "NOT KNOWN to stet"
			}
			fmt.Fprintf(w, "\n%s: %s\n", strings.Join(append([]string{way.Way}, way.Variables...), " "), first.Reason)
			const most = 8
			for i, d := range group {
				if i == most && len(group) > most+1 && first.Keep != "" {
					fmt.Fprintf(w, "  and %d more\n", len(group)-most)
					break
				}
				fmt.Fprintf(w, "  %-8s %s\n", d.How, d.What)
				if group[0].Reason == "" && d.How == "changed" {
					fmt.Fprintf(w, "           %q\n        -> %q\n", d.Was, d.Is)
				}
			}
			if first.Keep != "" {
				fmt.Fprintf(w, "  -> kept by %s\n", first.Keep)
			}
		}
	}
}

// reasons groups the differences by their reasons, without those that concern the connection alone.
func (w *wayRow) reasons() (groups [][]agents.Difference) {
	for _, d := range w.Differences {
		if d.Connection {
			continue
		}
		i := slices.IndexFunc(groups, func(g []agents.Difference) bool { return g[0].Reason == d.Reason })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

// ownTools is the number of tools of the MCP server that an agent gets: enough for an agent to hide some of them from its model.
const ownTools = 40

// serveTools is an MCP server with many tools, on standard input and output.
func serveTools(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	type input struct {
		Bed string `json:"bed"`
	}
	for i := range ownTools {
		t := &mcp.Tool{Name: fmt.Sprintf("tool_%02d", i), Description: strings.Repeat("It does something in the garden. ", 15)}
		mcp.AddTool(s, t, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	return s.Run(ctx, &mcp.StdioTransport{})
}
