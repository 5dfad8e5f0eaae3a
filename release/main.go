// Release makes the parts of a release beside the programs: the licences of other projects, lists of the modules in a program,
// npm packages, the Homebrew formula, and the entry for the registry of MCP servers. The Makefile runs it. It uses only the
// standard library. The same input gives the same bytes.
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
