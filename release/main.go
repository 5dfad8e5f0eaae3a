// Release makes what belongs to a release beside the programs: the licences of others, lists of what a program is built
// from, npm packages, the Homebrew formula and the entry for the registry of MCP servers. The Makefile runs it. It uses
// the standard library alone, and writes the same bytes for the same input.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "licences":
		return licences(args[1])
	case len(args) == 3 && args[0] == "sbom":
		return sbom(args[1], args[2])
	case len(args) == 2 && args[0] == "packages":
		return packages(args[1])
	case len(args) == 3 && args[0] == "npm":
		return npmHere(args[1], args[2])
	}
	return errors.New("want licences FILE, sbom PROGRAM DOCUMENT, packages DIST, or npm PROGRAM DIST")
}
