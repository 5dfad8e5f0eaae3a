package main

import (
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// maxInit limits the bytes that the initialisation of packages may allocate: every command needs it, also stet --version.
const maxInit = 256 << 10

var initLine = regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, \d+ allocs$`)

// Package initialisation before main stays small. The log lists the largest.
func TestInit(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type line struct {
		pkg   string
		bytes int
	}
	var all []line
	for _, m := range initLine.FindAllStringSubmatch(string(out), -1) {
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line{m[1], bytes})
		if bytes > maxInit {
			t.Errorf("%s allocates %d bytes before main runs", m[1], bytes)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d packages are listed: %.300s", len(all), out)
	}
	slices.SortFunc(all, func(a, b line) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, l := range all[:10] {
		t.Logf("%8d bytes %s", l.bytes, l.pkg)
	}
}
