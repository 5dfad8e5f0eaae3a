package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The test binary runs twice: outside the namespace it installs and builds,
// inside it tests. These variables carry what the first run found to the second.
const (
	envInside = "STET_E2E_INSIDE" // set within the namespace
	envSkip   = "STET_E2E_SKIP"   // why the tests cannot run here
	envAgents = "STET_E2E_AGENTS" // the directory of the agents' commands
	envStet   = "STET_E2E_STET"   // the stet binary
	envSDKs   = "STET_E2E_SDKS"   // the directory of the SDKs' scripts
	envRuns   = "STET_E2E_RUNS"   // where throw-away homes and workspaces go
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(envInside) != "" {
		if err := loopbackUp(); err != nil {
			os.Setenv(envSkip, fmt.Sprintf("bring up the loopback device: %v", err))
		}
		os.Setenv("PATH", os.Getenv(envAgents)+string(os.PathListSeparator)+os.Getenv("PATH"))
		watchSources()
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // the child dies with the thread that started it
	env, err := prepare()
	if err != nil {
		skipAll(m, err.Error())
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(append(os.Environ(), envInside+"=1"), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	isolate(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1))
	}
	skipAll(m, fmt.Sprintf("no network namespace here (%v): run as root, or allow user namespaces", err))
}

// skipAll lets every test say why it is skipped; with STET_E2E=require that is
// a failure.
func skipAll(m *testing.M, why string) {
	if os.Getenv("STET_E2E") == "require" {
		fmt.Fprintf(os.Stderr, "the end-to-end tests are required, but cannot run: %s\n", why)
		os.Exit(1)
	}
	os.Setenv(envSkip, why)
	os.Exit(m.Run())
}

// prepare installs the agents and builds stet, and returns the variables that
// say where they are. Its error is the reason to skip.
func prepare() ([]string, error) {
	if os.Getenv("STET_E2E") == "off" || testing.Short() {
		return nil, errors.New("switched off by STET_E2E=off or -short")
	}
	for _, tool := range []string{"node", "npm", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s is not installed: install Node 20 or newer with npm, and git", tool)
		}
	}
	cache := os.Getenv("STET_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		cache = filepath.Join(dir, "stet-e2e")
	}
	agents, err := install("agents", filepath.Join(cache, "agents"))
	if err != nil {
		return nil, fmt.Errorf("install the agents: %w; their versions stand in test/e2e/agents/package-lock.json", err)
	}
	sdks, err := install("../sdk/js", filepath.Join(cache, "sdk-js"))
	if err != nil {
		return nil, fmt.Errorf("install the SDKs: %w; their versions stand in test/sdk/js/package-lock.json", err)
	}
	runs := filepath.Join(cache, "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return nil, err
	}
	tidy(runs)
	stet := os.Getenv(envStet) // a binary to test in place of this checkout's
	if stet == "" {
		stet = filepath.Join(cache, "bin", "stet")
		if out, err := exec.Command("go", "build", "-o", stet, "../../cmd/stet").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build stet: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	return []string{
		envAgents + "=" + filepath.Join(agents, "node_modules", ".bin"), envSDKs + "=" + sdks,
		envStet + "=" + stet, envRuns + "=" + runs,
	}, nil
}

// tidy removes what runs of other days have left.
func tidy(runs string) {
	entries, _ := os.ReadDir(runs) // an unreadable directory has nothing to remove
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(filepath.Join(runs, e.Name()))
		}
	}
}

// install brings the npm packages that from pins into dir, unless they are
// there already, and returns dir.
func install(from, dir string) (string, error) {
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return "", err
	}
	done := filepath.Join(dir, "installed.lock") // a copy, written last
	if have, err := os.ReadFile(done); err == nil && string(have) == string(lock) {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	// Not "npm ci": it refuses a lock file without the binaries for other
	// systems, and not every registry has them. What the lock file has is
	// installed in that version either way.
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out))
		return "", fmt.Errorf("npm install: %w: %s", err, said[max(0, len(said)-500):])
	}
	return dir, os.WriteFile(done, lock, 0o644)
}

// watchSources looks at every source file of stet, so that "go test" does not
// take the result of an older stet from its cache.
func watchSources() {
	_ = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
}

// need skips the test where agents cannot run.
func need(t *testing.T) {
	t.Helper()
	if why := os.Getenv(envSkip); why != "" {
		t.Skip(why)
	}
}
