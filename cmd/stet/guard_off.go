package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/agents"
	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/guard"
	"github.com/stet-dev/stet/trim/transcript"
)

// This file finds out what agents did while no guard ran: when it ran last is the time of a file, and the agents' calls are in their session files.

// aliveEvery is how often a guard that runs says so.
const aliveEvery = 10 * time.Second

// aliveFile is a file whose time of change is when the guard at an address ran last.
func (p *program) aliveFile(listen string) (string, error) {
	dir, err := p.guardDir()
	return filepath.Join(dir, "alive-"+strings.NewReplacer(":", "-", "/", "-").Replace(listen)), err
}

// lastAlive returns when the guard ran last; zero: never.
func (p *program) lastAlive(listen string) time.Time {
	name, err := p.aliveFile(listen)
	if err != nil {
		return time.Time{}
	}
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// sayAlive notes that the guard knows all calls up to a time.
func (p *program) sayAlive(listen string, to time.Time) error {
	name, err := p.aliveFile(listen)
	if err != nil {
		return err
	}
	if err = os.Chtimes(name, to, to); errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(name, nil, 0o600)
	}
	return err
}

// offSince returns what guarded agents did since the guard ran last.
func (p *program) offSince(ctx context.Context, last, now time.Time) guard.Off {
	off := guard.Off{From: last, To: now}
	if last.IsZero() {
		return off
	}
	sources := transcript.Find(p.home(), p.getenv)
	for _, name := range agents.GuardedAgents() {
		agent, _ := agents.GuardOf(name)
		of := p.guardedDirs(agent)
		for _, s := range sources {
			if s.Agent == agent.Sessions && len(of) > 0 {
				off.Calls = append(off.Calls, callsSince(ctx, agent, s.Path, last.Add(-guard.OffMargin), of)...)
			}
		}
	}
	return off
}

// guardedDirs returns the directories in which an agent is guarded; the root if it is guarded everywhere.
func (p *program) guardedDirs(agent agents.Guarded) (dirs []string) {
	if is, _ := agent.Installed(p.machine(), ""); is {
		return []string{string(filepath.Separator)}
	}
	for _, project := range p.guardedProjects() {
		if is, _ := agent.Installed(p.machine(), project); is && agent.Local {
			dirs = append(dirs, project)
		}
	}
	return dirs
}

// howToGuard says how an agent is guarded, after a message that nothing is recorded; "" if one is guarded.
func (p *program) howToGuard() string {
	names := agents.GuardedAgents()
	for _, name := range names {
		if agent, _ := agents.GuardOf(name); len(p.guardedDirs(agent)) > 0 {
			return ""
		}
	}
	return fmt.Sprintf("; no agent is guarded: \"stet guard %s\" has stet record what the agent's own tools and its shell change", strings.Join(names, "|"))
}

// sessionFiles returns the files at a place of sessions, or below it, that have changed since a time.
func sessionFiles(ctx context.Context, path string, since time.Time) (files []string) {
	_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error { // what cannot be read is not known
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		newest := time.Time{}
		for _, f := range []string{file, file + "-wal"} {
			if info, err := os.Stat(f); err == nil && info.ModTime().After(newest) {
				newest = info.ModTime()
			}
		}
		if d.Type().IsRegular() && newest.After(since) && (file == path || transcript.Likely(d.Name())) {
			files = append(files, file)
		}
		return nil
	})
	return files
}

// callsSince reads an agent's calls from its session files that have changed since a time, without those that the agent has refused because no guard
// answered.
func callsSince(ctx context.Context, agent agents.Guarded, path string, since time.Time, dirs []string) (calls []guard.Passed) {
	files := sessionFiles(ctx, path, since)
	_ = transcript.Opener{SQLite: openReadOnly}.Walk(files, func(_ string, sessions []*transcript.Session, err error) error {
		for _, s := range sessions {
			if !slices.ContainsFunc(dirs, func(dir string) bool { return snapshot.Contains(dir, s.Dir) || filepath.Dir(dir) == dir }) {
				continue
			}
			refused := map[string]bool{}
			for _, m := range s.Messages {
				for _, part := range m.Parts {
					if part.Kind == llm.ToolResult && agent.Refusal != "" && strings.Contains(part.Text, agent.Refusal) {
						refused[part.CallID] = true
					}
				}
			}
			for _, m := range s.Messages {
				for _, part := range m.Parts {
					if part.Kind == llm.ToolCall && m.Time.After(since) && !m.Local && !refused[part.CallID] {
						calls = append(calls, guard.Passed{Time: m.Time, Event: guard.Event{
							Agent: agent.Name, Session: s.ID, Call: part.CallID, Tool: part.Name, Input: json.RawMessage(part.Args), Dir: s.Dir,
						}})
					}
				}
			}
		}
		return ctx.Err()
	})
	return calls
}

// projectsFile lists the projects whose hooks stet has installed, one a line.
func (p *program) projectsFile() (string, error) {
	dir, err := p.guardDir()
	return filepath.Join(dir, "projects"), err
}

// guardedProjects returns the projects whose hooks stet has installed.
func (p *program) guardedProjects() (dirs []string) {
	name, err := p.projectsFile()
	if err != nil {
		return nil
	}
	text, _ := os.ReadFile(name) // no file: none
	for line := range bytes.Lines(text) {
		if dir := strings.TrimSuffix(string(line), "\n"); filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// noteProject adds a project to those whose hooks stet has installed.
func (p *program) noteProject(dir string) error {
	name, err := p.projectsFile()
	if err != nil || slices.Contains(p.guardedProjects(), dir) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return config.StateError(err)
	}
	_, err = f.WriteString(dir + "\n")
	return errors.Join(err, f.Close())
}

// guarded checks the hooks of agents and the guard that they need.
func (c *doctorCommand) guarded(ctx context.Context, o *config.Config) {
	var names []string
	for _, name := range agents.GuardedAgents() {
		agent, _ := agents.GuardOf(name)
		if len(c.guardedDirs(agent)) > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		agent, _ := agents.GuardOf(name)
		events, err := agent.Untrusted(c.machine())
		switch {
		case err != nil:
			c.found(checkWarning, "guard", "", "whether %s trusts the guard's hooks is not known: %v", name, err)
		case len(events) > 0:
			c.found(checkWarning, "guard", "start "+name+" in a terminal, and say yes to its question about hooks",
				"%s skips these hooks of the guard without a word, because it does not trust them: %s", name, strings.Join(events, ", "))
		}
	}
	who := strings.Join(names, ", ")
	reached := c.guardError(ctx, o.Listen)
	switch last := c.lastAlive(o.Listen); {
	case reached == nil:
		c.found(checkOK, "guard", "", "it answers; guarded: %s", who)
	case answers(ctx, o.Listen):
		c.found(checkProblem, "guard", "", "%s has the guard's hooks, and their calls are not recorded: %v", who, reached)
	case last.IsZero():
		c.found(checkProblem, "guard", `start it: "stet service install", or "stet proxy" in a terminal`, "%s has the guard's hooks, and no guard has ever run at %s: calls are not recorded", who, o.Listen)
	default:
		c.found(checkProblem, "guard", `start it: "stet service install", or "stet proxy" in a terminal; then it finds the calls in the agents' session files`,
			"%s has the guard's hooks, and the guard is off since %s (%v): calls are not recorded", who, last.Local().Format(time.DateTime), time.Since(last).Round(time.Second))
	}
	trail, err := c.openTrail(ctx)
	if err != nil {
		return // nothing is recorded yet
	}
	defer trail.Close()
	entries, err := trail.Entries(ctx, record.TrailQuery{Session: guard.OffSession, From: time.Now().AddDate(0, 0, -recordedDays)})
	if err != nil {
		c.found(checkWarning, "guard", "", "%v", err)
	}
	for _, e := range entries {
		c.found(checkWarning, "guard", "\"stet audit\" lists them", "%s", strings.Join(e.Flags, " "))
	}
}
