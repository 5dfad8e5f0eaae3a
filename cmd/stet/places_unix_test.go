//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A stranger's file does not configure what is not a checkout.
func TestProjectConfigOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	var said bytes.Buffer
	p := &program{dir: filepath.Join(dir, "a"), err: &said}
	file := filepath.Join(dir, projectFile)
	write(t, file, "policy = \"off\"\n")
	write(t, filepath.Join(p.dir, "x"), "")
	if got := p.projectConfig(); got != file {
		t.Errorf("ours: %q", got)
	}
	if err := os.Chown(file, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := p.projectConfig(); got != "" || !strings.Contains(said.String(), "somebody else's") {
		t.Errorf("a stranger's: %q, %s", got, said.String())
	}
	if err := os.Chown(p.dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := p.projectConfig(); got != file {
		t.Errorf("the checkout's owner's: %q", got)
	}
}
