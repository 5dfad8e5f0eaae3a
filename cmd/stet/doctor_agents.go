package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// firstBytes keeps the beginning of what is written to it, and refuses the rest.
type firstBytes []byte

func (f *firstBytes) Write(b []byte) (int, error) {
	const most = 1000
	if len(*f)+len(b) > most {
		return 0, errors.New("enough")
	}
	*f = append(*f, b...)
	return len(b), nil
}

// versionNumber matches a version.
var versionNumber = regexp.MustCompile(`\d+\.\d+[\w.+-]*\w`)

// versions asks programs for their versions, concurrently. The result is in the order of paths, with "" if a program printed no
// version.
func (p *program) versions(ctx context.Context, paths []string) []string {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found := make([]string, len(paths))
	var all sync.WaitGroup
	for i, path := range paths {
		if path == "" {
			continue
		}
		all.Go(func() { found[i] = versionOf(ctx, path, p.dir, p.environForOthers()) })
	}
	all.Wait()
	return found
}

// versionOf returns the version that a program prints, or "".
func versionOf(ctx context.Context, path, dir string, env []string) string {
	var out, complaints firstBytes
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, dir, &out, &complaints, time.Second
	_ = cmd.Run() // only its output matters
	if len(out) == 0 {
		out = complaints // pi prints it there
	}
	return string(versionNumber.Find(out))
}

// agents finds agents, and checks where their requests go. o is nil if the configuration cannot be read.
func (c *doctorCommand) agents(ctx context.Context, o *config.Config) {
	lasting, err := c.lasting()
	if err != nil {
		c.found(checkProblem, "agents", "remove that file, and run \"stet setup --proxy\" again", "%v", err)
		return
	}
	m := c.agentMachine(ctx, o)
	none := true
	names := agents.Programs()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i], _ = exec.LookPath(name) // "" if it is not on the PATH
	}
	versions := c.versions(ctx, paths)
	m.Version = func(program string) string { return versions[slices.Index(names, program)] }
	for i, name := range names {
		_, set := lasting[name]
		if paths[i] == "" && !set {
			continue
		}
		none = false
		where := cmp.Or(paths[i], "it is not on the PATH")
		if versions[i] != "" {
			where = versions[i] + " at " + where
		}
		changed, err := m.ProxyChanged(name, lasting)
		switch {
		case err != nil:
			c.found(checkProblem, name, "correct that file", "%v", err)
		case set && len(changed) > 0:
			c.found(checkWarning, name, fmt.Sprintf("run \"stet setup --proxy %s\" again, or with --remove", name),
				"%s; stet setup sent it through the proxy, and since then this has changed: %s", where, strings.Join(changed, ", "))
		case set:
			c.found(checkOK, name, "", "%s; it goes through the proxy, always", where)
		default:
			do := ""
			if slices.Contains(agents.ProxyAgents(), name) {
				do = fmt.Sprintf("\"stet setup --proxy %s\" sends it through the proxy for good", name)
			}
			c.found(checkOK, name, do, "%s; it goes through the proxy under \"stet wrap\" alone", where)
		}
	}
	if none {
		c.found(checkWarning, "agents", "install one, or put it on the PATH", "none of the agents that stet knows is on the PATH: %s", strings.Join(agents.Programs(), ", "))
	}
}
