package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

// The exit codes that are stet's own.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitNotRun   = 126
	exitNotFound = 127
)

// exitError ends the program with a code. Without an error it does so in
// silence: what there was to say has been said, by the agent.
type exitError struct {
	code int
	err  error
	help string // the command whose help tells how it is used; empty: none
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage makes err an error in how cmd was called.
func usage(cmd *cobra.Command, err error) error {
	return &exitError{code: exitUsage, err: err, help: cmd.CommandPath()}
}

// misconfigured makes err an error in the configuration.
func misconfigured(err error) error { return &exitError{code: exitUsage, err: err} }

func unknownCommand(cmd *cobra.Command, name string) error {
	msg := fmt.Sprintf("unknown command %q", name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		msg += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return usage(cmd, errors.New(msg))
}

// noArgs refuses arguments, and says which.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, fmt.Errorf("unexpected argument %q", args[0]))
	}
	return nil
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}

// printError says in plain words what went wrong: one line, no box.
func printError(w io.Writer, _ fang.Styles, err error) {
	var e *exitError
	if !errors.As(err, &e) {
		fmt.Fprintln(w, "stet:", err)
		return
	}
	if e.err == nil {
		return
	}
	fmt.Fprintln(w, "stet:", err)
	if e.help != "" {
		fmt.Fprintf(w, "See '%s --help'.\n", e.help)
	}
}
