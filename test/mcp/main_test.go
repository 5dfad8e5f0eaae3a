package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// envServe makes this test binary an MCP server over stdio: a real process for
// clients that start one.
const envServe = "STET_TEST_MCP_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(envServe) != "" {
		if err := serveStdio(); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(envRoot); dir != "" {
		if err := serveTree(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// packages installs the npm packages, once, and returns their directory. The
// error is the reason to skip.
var packages = sync.OnceValues(func() (string, error) {
	if os.Getenv("STET_E2E") == "off" || testing.Short() {
		return "", errors.New("switched off by STET_E2E=off or -short")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed: install Node 20 or newer with npm")
	}
	cache := os.Getenv("STET_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "stet-e2e")
	}
	dir, err := install("npm", filepath.Join(cache, "mcp"))
	if err != nil {
		return "", fmt.Errorf("install the MCP clients: %w; their versions stand in test/mcp/npm/package-lock.json", err)
	}
	return filepath.Join(dir, "node_modules"), nil
})

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
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out))
		return "", fmt.Errorf("npm install: %w: %s", err, said[max(0, len(said)-500):])
	}
	return dir, os.WriteFile(done, lock, 0o644)
}

// need returns where the npm packages are, or skips the test.
func need(t *testing.T) string {
	t.Helper()
	dir, err := packages()
	if err == nil {
		return dir
	}
	if os.Getenv("STET_E2E") == "require" {
		t.Fatalf("required, but cannot run: %v", err)
	}
	t.Skip(err)
	return ""
}

// node runs a script of a package with Node 22, in a directory and a home of
// its own, and returns what it printed, its errors last.
func node(t *testing.T, script string, args ...string) (string, error) {
	t.Helper()
	dir := need(t)
	if !filepath.IsAbs(script) {
		script = filepath.Join(dir, script)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "bin", "node"), append([]string{script}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "NO_COLOR=1", "NODE_PATH="+dir)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out) + string(exit.Stderr), err
	}
	return string(out), err
}
