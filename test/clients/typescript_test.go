package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/test/npm"
)

// TestTypeScript compiles the client, its example and its tests, and runs the
// tests. (FILE-3, FILE-4, FILE-5, FILE-6, FILE-9)
func TestTypeScript(t *testing.T) {
	dir := compile(t)
	files, err := filepath.Glob(filepath.Join(dir, "dist/test/*.test.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	h := newRig(t)
	flags := nodeFlags(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".test.js"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "node", append(flags, "--test-reporter=spec", file)...)
			cmd.Env = append(os.Environ(), "STET_HOUSE="+h.URL, "NODE_NO_WARNINGS=1")
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// compile installs what the compilation needs, and compiles the client in a directory of its own.
func compile(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("switched off by -short")
	}
	packages, err := npm.Install("../../clients/ts", "client-ts")
	if err != nil {
		if npm.Required() {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"src", "test", "examples"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("../../clients/ts", part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"package.json", "tsconfig.json"} {
		data, err := os.ReadFile(filepath.Join("../../clients/ts", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "node_modules/typescript/bin/tsc")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	return dir
}

// nodeFlags returns the flags that Node needs to have a WebSocket.
func nodeFlags(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("node", "-p", "typeof WebSocket").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(out)) == "undefined" {
		return []string{"--experimental-websocket"}
	}
	return nil
}
