// Stet keeps a coding agent's context clean. It runs between the agent and its model, and leaves out of each request what the model
// already sees or no longer needs.
//
// Exit codes: 0 success; 1 failure; 2 a wrong command line or configuration; 3 a person had to decide and there was none, or the
// model refused ("stet run", "stet chat"); 128+n signal n interrupted it. "stet wrap" ends with the agent's own exit code: 128+n if
// signal n ended it, 126 if it could not be started, and 127 if there is no such command.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stet:", err)
		os.Exit(exitFailed)
	}
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(), dir: dir}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}
