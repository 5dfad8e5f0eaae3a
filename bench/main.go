// Bench compares stet with other programs, each in a process of its own, in one run and in turn. It prints one table in Markdown:
// medians, the time of stet divided by the time of the other program, and the goal. There is a separate table of what reaches the
// model.
//
//   - hops: stet proxy, and a plain proxy of Go's standard library,
//
//   - files: stet's file tools, and the official file server of MCP, both over standard input and output,
//
//   - commands: searching and finding files, and "stet savings", and for the same work ripgrep, fd and ccusage,
//
//   - tokens: stet's tokenizer, tiktoken and bpe-openai,
//
//   - sent: what reaches the model of the requests of recorded sessions (-sessions PATH).
//
//     cd bench && go run . [-only hops|files|commands|tokens|sent] [-peers DIR] [-rows REGEXP] [-stet FILE] [-rounds N] [-limit DURATION]
//
// The programs that peers.sh installs are measured if -peers names their directory. The MCP server comes from npm, in the version
// of npm/package-lock.json, with the Node that it needs: see test/npm. If npm or a registry is missing, nothing is measured, and
// the reason is printed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/stet-dev/stet/test/npm"
)

var (
	stetFile = flag.String("stet", "", "the stet to measure (default: built from this checkout)")
	rounds   = flag.Int("rounds", 1, "measure so many times as often")
	only     = flag.String("only", "", "measure hops, files, commands, tokens or sent alone")
	rows     = flag.String("rows", "", "measure only the rows whose name matches")
	limit    = flag.Duration("limit", 20*time.Second, "a call that takes longer gets no answer")
)

// measured reports whether a row is to be measured.
func measured(name string) bool {
	return *rows == "" || regexp.MustCompile(*rows).MatchString(name)
}

// errSkip says that nothing can be measured here.
var errSkip = errors.New("skipped")

func main() {
	flag.Parse()
	if upstream := os.Getenv(bareUpstream); upstream != "" {
		if err := bareProxy(upstream); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if file := os.Getenv(countedFile); file != "" {
		if err := countFile(file); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "stet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stet := *stetFile
	if stet == "" {
		stet = filepath.Join(dir, "stet")
		build := exec.Command("go", "build", "-o", stet, "./cmd/stet")
		build.Dir = ".."
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build stet: %w: %s", err, out)
		}
	}
	for _, part := range []struct {
		name string
		run  func(stet, dir string) error
	}{{"hops", hops}, {"files", files}, {"commands", commands}, {"tokens", countTokens}, {"sent", sent}} {
		if *only != "" && *only != part.name || part.name == "sent" && *sessionsPath == "" {
			continue
		}
		if err := part.run(stet, dir); errors.Is(err, errSkip) {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", part.name, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func files(stet, dir string) error {
	packages, err := npm.Install("npm", "bench")
	if err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	modules := filepath.Join(packages, "node_modules")
	tree := filepath.Join(dir, "tree")
	if err := makeTree(tree); err != nil {
		return err
	}
	b := &bench{tree: tree, sides: []*side{
		{name: "stet", command: func() *exec.Cmd {
			cmd := exec.Command(stet, "mcp", "--root", tree, "--rate", "0", "--write-without-asking")
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
			return cmd
		}},
		{name: "node", command: func() *exec.Cmd {
			return exec.Command(filepath.Join(modules, "node", "bin", "node"),
				filepath.Join(modules, "@modelcontextprotocol", "server-filesystem", "dist", "index.js"), tree)
		}},
	}}
	return b.all()
}
