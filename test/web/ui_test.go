package web

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stet-dev/stet/test/npm"
)

// The UI's own tests pass, its types are correct, and the committed build is what its sources build to.
func TestUI(t *testing.T) {
	if testing.Short() {
		t.Skip("switched off by -short")
	}
	const ui = "../../server/web/ui"
	dir, err := npm.Install(ui, "ui")
	if err != nil {
		if npm.Required() {
			t.Fatalf("required, but cannot run: %v", err)
		}
		t.Skip(err)
	}
	// The sources must be in the directory of node_modules.
	for _, name := range []string{"src", "public"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(ui, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"package.json", "index.html", "vite.config.ts", "svelte.config.js", "tsconfig.json"} {
		data, err := os.ReadFile(filepath.Join(ui, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	built := t.TempDir()
	for _, script := range []string{"test", "check", "build"} {
		cmd := exec.Command("npm", "run", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "STET_UI_OUT="+built)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm run %s: %v\n%s", script, err, out)
		}
	}
	have, want := files(t, "../../server/web/dist"), files(t, built)
	for name, data := range want {
		if !bytes.Equal(have[name], data) {
			t.Errorf("server/web/dist/%s is not what the sources build to: npm --prefix server/web/ui run build", name)
		}
	}
	if len(have) != len(want) {
		t.Errorf("server/web/dist has %d files, a build %d", len(have), len(want))
	}
}

// files reads all files below a directory.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
