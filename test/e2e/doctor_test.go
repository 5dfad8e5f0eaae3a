package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/test/npm"
)

// doctorReport is the output of "stet doctor AGENT --json".
type doctorReport struct {
	Agent, Version string
	Servers        []string
	Ways           []struct {
		Way         string
		Variables   []string
		Tools       int
		Differences []struct {
			What, How, Was, Is, Reason string
			Connection                 bool
		}
	}
}

// row is the agent's row of the table in docs/wrap.md.
func (r *doctorReport) row() string {
	cells := map[string]string{"base URL + variable": "–"}
	for i, w := range r.Ways {
		n := 0
		for _, d := range w.Differences {
			if !d.Connection {
				n++
			}
		}
		count := fmt.Sprint(n)
		if n > 20 {
			count = "many" // it differs a little between runs
		}
		switch cell := fmt.Sprintf("%d tools", w.Tools); {
		case i == 0:
			cells[w.Way] = cell
		case n == 0:
			cells[w.Way] = "same"
		case w.Tools != r.Ways[0].Tools:
			cells[w.Way] = fmt.Sprintf("%s, %s different", cell, count)
		default:
			cells[w.Way] = count + " different"
		}
	}
	return fmt.Sprintf("| %s %s | %s | %s | %s | %s |", r.Agent, r.Version, cells["directly"], cells["base URL"], cells["base URL + variable"], cells["forward proxy"])
}

// pinned are the agents that are always compared: the names, and where the program is if it is not on the PATH.
func pinned() (all [][2]string) {
	for _, version := range []string{"2.1.300", "2.1.332"} {
		all = append(all, [2]string{"claude", claudeDir(version)})
	}
	for _, name := range []string{"codex", "opencode", "gemini", "qwen", "pi"} {
		all = append(all, [2]string{name, os.Getenv(envAgents)})
	}
	return all
}

// claudeDir returns the directory of a version of Claude Code.
func claudeDir(version string) string {
	return filepath.Join(filepath.Dir(os.Getenv(envAgents)), "claude-"+version)
}

// TestDoctor compares the first request of real agents with stet and without, header by header and key by key: nothing differs that
// stet does not know, and the table in docs/wrap.md is true. (SAME-1)
func TestDoctor(t *testing.T) {
	need(t)
	docs, err := os.ReadFile("../../docs/wrap.md")
	if err != nil {
		t.Fatal(err)
	}
	all := pinned()
	if os.Getenv("STET_AGENTS") == "all" {
		dirs, err := os.ReadDir(os.Getenv(envOthers))
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		for _, d := range dirs {
			name, _, _ := strings.Cut(d.Name(), "@")
			all = append(all, [2]string{name, filepath.Join(os.Getenv(envOthers), d.Name(), "node_modules", ".bin")})
		}
	}
	for _, a := range all {
		t.Run(a[0]+"/"+filepath.Base(filepath.Dir(filepath.Dir(a[1]))), func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(a[1], a[0])); err != nil {
				t.Skip(err) // Claude Code is not there on every system
			}
			t.Parallel()
			home, repo := places(t, agent{name: "doctor-" + a[0]})
			report, said := doctor(t, home, repo, a[1], a[0])
			if want := report.row(); !strings.Contains(a[1], "@latest") && !strings.Contains(string(docs), want) {
				t.Errorf("docs/wrap.md does not have the row\n%s\n%s", want, said)
			}
		})
	}
}

// With --mine an agent gets the person's own MCP servers, and nothing of the run is left. (SAME-1)
func TestDoctorMine(t *testing.T) {
	need(t)
	for name, file := range map[string]string{"claude": ".claude.json", "codex": ".codex/config.toml"} {
		t.Run(name, func(t *testing.T) {
			dir := claudeDir("2.1.332")
			if name != "claude" {
				dir = os.Getenv(envAgents)
			}
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
			home, repo := places(t, agent{name: "doctor-mine-" + name})
			text := fmt.Sprintf(`{"mcpServers": {"gardens": {"command": %q, "args": ["doctor", "--serve-tools"]}}}`, os.Getenv(envStet))
			if name == "codex" {
				text = fmt.Sprintf("[mcp_servers.gardens]\ncommand = %q\nargs = [\"doctor\", \"--serve-tools\"]\n", os.Getenv(envStet))
			}
			write(t, filepath.Join(home, file), text)
			report, said := doctor(t, home, repo, dir, name, "--mine")
			if len(report.Servers) != 1 || report.Servers[0] != "gardens" {
				t.Errorf("servers %v: %s", report.Servers, said)
			}
			if b, err := os.ReadFile(filepath.Join(home, file)); err != nil || string(b) != text {
				t.Errorf("%v: the person's file has\n%s", err, b)
			}
			if left, _ := filepath.Glob(filepath.Join(home, "tmp", "stet-doctor-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// doctor runs "stet doctor NAME" with the program in dir. A difference that stet does not know is an error.
func doctor(t *testing.T, home, repo, dir, name string, flags ...string) (report doctorReport, said string) {
	t.Helper()
	tmp := filepath.Join(home, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(environment(home), "TMPDIR="+tmp, "PATH="+strings.Join([]string{dir, filepath.Dir(os.Getenv(envStet)), os.Getenv("PATH")}, string(os.PathListSeparator)))
	file := filepath.Join(home, "report.json")
	exit, said := run(t, repo, env, []string{"sh", "-c", os.Getenv(envStet) + " doctor " + name + " --yes --json " + strings.Join(flags, " ") + " >" + file})
	b, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(b, &report) != nil {
		t.Fatalf("exit code %d: %s\n%s", exit, said, b)
	}
	for _, w := range report.Ways {
		for _, d := range w.Differences {
			if d.Reason == "" {
				t.Errorf("%s %s, %s: %s %s\n  %q\n  %q", report.Agent, report.Version, w.Way, d.How, d.What, d.Was, d.Is)
			}
		}
	}
	if exit != 0 {
		t.Errorf("exit code %d: %s", exit, said)
	}
	return report, said
}

// installOthers installs what STET_AGENTS=all runs: every agent at two versions and at npm's newest. It returns the directory that has
// a directory NAME@VERSION for each. The newest version that npm cannot install is left out, with a message.
func installOthers() (string, error) {
	cache, err := npm.Cache()
	if err != nil || os.Getenv("STET_AGENTS") != "all" {
		return "", err
	}
	text, err := os.ReadFile("agents/package.json")
	var pins struct{ AllAgents map[string][3]string }
	if err == nil {
		err = json.Unmarshal(text, &pins)
	}
	if err != nil {
		return "", err
	}
	for name, p := range pins.AllAgents {
		for _, version := range []string{p[1], p[2], "latest"} {
			_, err := npm.Add(filepath.Join("all", name+"@"+version), p[0]+"@"+version, "node@22.23.3") // some need it
			switch {
			case err != nil && version != "latest":
				return "", err
			case err != nil:
				fmt.Fprintf(os.Stderr, "npm cannot install the newest %s: %v\n", name, err)
				_ = os.RemoveAll(filepath.Join(cache, "all", name+"@latest")) // it has nothing
			}
		}
	}
	return filepath.Join(cache, "all"), nil
}
