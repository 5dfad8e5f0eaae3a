package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stet-dev/stet/test/npm"
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
	if testing.Short() {
		return "", errors.New("switched off by -short")
	}
	dir, err := npm.Install("npm", "mcp")
	if err != nil {
		return "", fmt.Errorf("install the MCP clients: %w", err)
	}
	return filepath.Join(dir, "node_modules"), nil
})

// need returns where the npm packages are, or skips the test.
func need(t *testing.T) string {
	t.Helper()
	dir, err := packages()
	if err == nil {
		return dir
	}
	if npm.Required() {
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
