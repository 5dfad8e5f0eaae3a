//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The editor is the configured one, or else an installed one.
func TestEditor(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	for _, step := range []struct {
		env     []string
		install string
		want    string
	}{
		{nil, "", ""},
		{[]string{"EDITOR=mine -w"}, "", "mine -w"},
		{[]string{"EDITOR=mine", "VISUAL=other"}, "", "other"},
		{nil, "vi", "vi"},
		{nil, "nano", "nano"},
		{[]string{"EDITOR=mine"}, "", "mine"},
	} {
		if step.install != "" {
			if err := os.WriteFile(filepath.Join(bin, step.install), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := (&program{env: step.env}).editor(); got != step.want {
			t.Errorf("%q: %q, want %q", step.env, got, step.want)
		}
	}
}
