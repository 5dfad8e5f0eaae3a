// Stet keeps a coding agent's context clean: it stands between the agent and
// its model, and leaves out of each request what the model has in view already or
// does not need any more.
//
// Exit codes: 0 it went well; 1 something broke; 2 the command line or the
// configuration is wrong; 3 a person would have had to decide, or the model
// refused ("stet run", "stet chat"); 128+n signal n interrupted it. Under "stet wrap" the
// agent's own exit code comes back, 128+n when signal n ended it, 126 when it
// could not be started, and 127 when there is no such command.
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
