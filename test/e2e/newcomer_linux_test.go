package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/freeport"
	"github.com/stet-dev/stet/test/npm"
)

// A person's first five minutes: install the program, check it, send an agent permanently through the proxy, work with it, see what
// was saved, and uninstall everything. The model is "stet model"; systemd starts the proxy with the agent's first request. The
// test's log has the time of each step.
func TestNewcomer(t *testing.T) {
	need(t)
	packages := packed(t)
	for _, a := range []struct{ agent, config, command string }{
		{"codex", ".codex/config.toml", "codex exec --dangerously-bypass-approvals-and-sandbox -m gpt-5.5"},
		{"opencode", ".config/opencode/opencode.json", "opencode run --model openai/gpt-5.5"},
	} {
		t.Run(a.agent, func(t *testing.T) {
			home, repo := places(t, agent{name: "newcomer-" + a.agent})
			env := append(environment(home), "OPENAI_API_KEY="+key, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1")
			modules := filepath.Join(home, "lib", "node_modules")
			bin := filepath.Join(home, "bin")
			// A service runs the program itself, without the launcher of npm.
			program := filepath.Join(modules, "@stet-dev", "stet-"+platform(), "bin", "stet")
			env = append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			began := time.Now()
			step := func(want string, args ...string) {
				t.Helper()
				started := time.Now()
				if args[0] == "stet" {
					args[0] = filepath.Join(bin, "stet")
				}
				exit, said := run(t, repo, env, args)
				if exit != 0 || !strings.Contains(said, want) {
					t.Fatalf("%s: exit code %d, want %q in\n%s", strings.Join(args, " "), exit, want, said)
				}
				t.Logf("%5.1f s  %s", time.Since(started).Seconds(), strings.Join(args, " "))
			}
			step("", append([]string{"npm", "install", "--global", "--prefix", home, "--offline", "--no-audit", "--no-fund", "--omit=optional"}, packages...)...)
			step("ok       program", "stet", "doctor")

			free := freeport.Addresses(t, 2)
			model, proxy := free[0], free[1]
			start(t, repo, env, model, program, "model", "--listen", model, bedsFile)
			settings, before := "listen = \""+proxy+"\"\n", ""
			if a.agent == "codex" { // codex uses a base URL of its own; the other agent uses its default provider
				before = "openai_base_url = \"http://" + model + "/v1\"\n"
				write(t, filepath.Join(home, a.config), before)
			} else {
				settings += "upstream = \"http://" + model + "\"\n"
			}
			write(t, filepath.Join(home, ".config/stet/config.toml"), settings)
			serve := []string{program, "proxy"}
			if activate, err := exec.LookPath("systemd-socket-activate"); err == nil {
				serve = append([]string{activate, "--listen=" + proxy, "--setenv=HOME", "--setenv=PATH", "--setenv=XDG_CONFIG_HOME", "--setenv=XDG_STATE_HOME"}, serve...)
			} else if npm.Required() {
				t.Fatal(err)
			}
			start(t, repo, env, "", serve...)

			step("written to", "stet", "setup", "--proxy", a.agent, "--force")
			step("I am a script", append(strings.Fields(a.command), "What is here?")...)
			step("it goes through the proxy, always", "stet", "doctor")
			step("the whole bill", "stet", "savings")
			step(a.config, "stet", "uninstall")
			if text, err := os.ReadFile(filepath.Join(home, a.config)); err == nil && (strings.Contains(string(text), proxy) || !strings.HasPrefix(string(text), before)) {
				t.Errorf("after uninstall the agent's configuration has\n%s", text)
			}
			t.Logf("%5.1f s in all", time.Since(began).Seconds())
		})
	}
}

// packed makes the npm packages of the program under test, like a release.
func packed(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dist := filepath.Join(root, "bin") // the packages also contain files that are looked for next to this directory
	for _, args := range [][]string{{"licences", filepath.Join(dist, "release", "THIRD_PARTY_LICENSES")}, {"npm", os.Getenv(envStet), dist}} {
		cmd := exec.Command("go", append([]string{"run", "."}, args...)...)
		cmd.Dir = filepath.Join(root, "release")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	var files []string
	for _, name := range []string{"stet-dev-stet-" + platform(), "stet-dev-stet"} {
		files = append(files, filepath.Join(dist, "npm", name+"-0.0.0-test.tgz"))
	}
	return files
}

// platform returns this system and processor in the form of Node.
func platform() string {
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
}

// Agents with providers of their own are permanently configured for the proxy. They end in the same way as without it, and less
// is sent.
func TestPermanentProxy(t *testing.T) {
	need(t)
	for _, a := range []agent{
		codex, opencode("chat", "local", "scripted"), pi("messages", "anthropic", bound), cline("messages", "anthropic", "claude-sonnet-4-5"),
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			straight := straight(t, a)
			proxied := a
			proxied.configure = func(t *testing.T, home, base string) []string {
				env := a.configure(t, home, base)
				proxy := startProxy(t, home)
				address := "STET_LISTEN=" + strings.TrimPrefix(proxy, "http://")
				exit, said := run(t, home, append(environment(home), address), []string{os.Getenv(envStet), "setup", "--proxy", a.name, "--force"})
				if exit != 0 || !strings.Contains(said, "as before") {
					t.Fatalf("exit code %d: %s", exit, said)
				}
				return env
			}
			with := session(t, proxied, direct)
			same(t, straight, with)
			placeholders(t, straight, with)
			stored(t, straight, with)
		})
	}
}

// start runs a program until the test ends. If an address is given, start returns after the program answers there.
func start(t *testing.T, dir string, env []string, address string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	group(cmd)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Cancel() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said\n%s", args[0], said.String())
		}
	})
	for deadline := time.Now().Add(patience); address != ""; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %v", args[0], err)
		}
	}
}
