package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version of a build that is not made from a module at a version. The linker sets it, commit and date in released
// packages (.goreleaser.yaml). No code writes them.
var (
	release = "0.1.0-dev"
	commit  string // the revision's hash
	date    string // of the commit, RFC 3339
)

// version returns the version of this build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return strings.TrimPrefix(v, "v")
		}
	}
	return release
}

// longVersion returns the version with the commit and its date, where they are known.
func longVersion() string {
	hash, day := revision()
	if len(hash) < 7 {
		return version()
	}
	return strings.TrimRight(fmt.Sprintf("%s (commit %s, %s", version(), hash[:7], day), ", ") + ")"
}

// versionLine is what "stet version" and "stet --version" print.
func versionLine() string {
	return fmt.Sprintf("stet %s %s %s/%s\n", longVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision returns the hash of the commit, and its day; empty where they are not known.
func revision() (hash, day string) {
	hash, day = commit, date
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				hash = cmp.Or(hash, s.Value)
			case "vcs.time":
				day = cmp.Or(day, s.Value)
			}
		}
	}
	return hash, day[:min(10, len(day))]
}

// versionCommand is stet version.
type versionCommand struct{ command }

func newVersion(p *program) *cobra.Command {
	c := &versionCommand{}
	return p.runs(&cobra.Command{Use: "version", Short: "Print the version", Args: noArgs}, &c.command, c.Run)
}

func (c *versionCommand) Run(context.Context) error {
	_, err := fmt.Fprint(c.out, versionLine())
	return err
}
