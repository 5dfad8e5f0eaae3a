package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
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
	if want := fmt.Sprintf("stet 1.2.3 (commit 0123456, 2026-01-05) %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH); err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	same, err := exec.Command(bin, "version").Output()
	if err != nil || string(same) != string(out) {
		t.Errorf("stet version prints %q, %v; --version %q", same, err, out)
	}
}
