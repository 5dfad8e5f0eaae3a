package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/test/npm"
)

// envServe makes this test binary an MCP server over stdio, for clients that start their server as a process.
const envServe = "STET_TEST_MCP_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(envServe) != "" {
		if err := serveStdio(); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// packages are the SDKs and programs from npm.
var packages = &npm.Set{From: "npm", Name: "mcp"}

// node runs a script of a package with Node 22, in a directory and a home of its own. It returns the output, with standard error
// at the end.
func node(t *testing.T, script string, args ...string) (string, error) {
	t.Helper()
	dir := packages.Need(t)
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
