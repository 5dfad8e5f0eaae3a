package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// A release build prints its version, the commit and the commit's day.
func TestReleaseVersion(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "stet.exe")
	stamp := "-X main.release=1.2.3 -X main.commit=0123456789abcdef -X main.date=2026-01-05T10:00:00Z"
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", stamp, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(bin, "--version").Output()
	if want := "stet version 1.2.3 (commit 0123456, 2026-01-05)\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}
