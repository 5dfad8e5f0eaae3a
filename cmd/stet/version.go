package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of a build that is not made from a module at a
// version.
const release = "0.1.0-dev"

// version returns the version of this build, with the revision it is of where
// that is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	v := release
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v = m
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 7 && v == release {
			v += " (" + s.Value[:7] + ")"
		}
	}
	return v
}

// versionCommand is stet version.
type versionCommand struct{ command }

func newVersion(p *program) *cobra.Command {
	c := &versionCommand{}
	return p.runs(&cobra.Command{Use: "version", Short: "Print the version", Args: noArgs}, &c.command, c.Run)
}

func (c *versionCommand) Run(context.Context) error {
	_, err := fmt.Fprintf(c.out, "stet %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
