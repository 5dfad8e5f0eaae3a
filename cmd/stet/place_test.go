package main

import (
	"os"
	"path/filepath"
	"testing"
)

// place is a program in an empty project below an empty home.
func place(t *testing.T, env ...string) *program {
	t.Helper()
	home := t.TempDir()
	p := &program{env: append([]string{"HOME=" + home}, env...), dir: filepath.Join(home, "project")}
	write(t, filepath.Join(p.dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	return p
}

// write makes a file and the directories above it.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
