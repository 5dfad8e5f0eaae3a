package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/process"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
)

// Exit codes of stet itself.
const (
	exitFailed = 1
	exitUsage  = 2
	exitAlone  = 3   // of stet run and stet chat: the model refused, or a person was needed
	exitSignal = 128 // plus the signal's number
)

// exitError ends the program with a code. Without an error it prints no message, because the agent has printed it.
type exitError struct {
	code int
	err  error
	help string // the command whose help shows the usage; "": none
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as an error in the use of cmd.
func usage(cmd *cobra.Command, err error) error {
	return &exitError{code: exitUsage, err: err, help: cmd.CommandPath()}
}

// misconfigured marks err as an error in the configuration.
func misconfigured(err error) error { return &config.Error{Err: err} }

// badFlag describes an error in a flag.
func badFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		want := map[string]config.Type{"int": config.Number, "uint32": "0 (all) or a number", "bool": config.Bool, "duration": "a time such as 30s, 5m or 12h"}[f.Value.Type()]
		if want != "" {
			err = fmt.Errorf("--%s: want %s, have %q", f.Name, want, invalid.GetValue())
		}
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Near(unknown.GetSpecifiedName(), names); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean --%s?", err, strings.Join(near, " or --"))
		}
	}
	return usage(cmd, err)
}

// group makes cmd a command with only subcommands: without one it prints its help.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

func unknownCommand(cmd *cobra.Command, name string) error {
	msg := fmt.Sprintf("unknown command %q", name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 && name != "" { // "" is the beginning of all
		msg += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return usage(cmd, errors.New(msg))
}

// noArgs refuses arguments, and says which.
var noArgs = nArgs(0, 0, "")

// atMostOneArg refuses a second argument.
var atMostOneArg = nArgs(0, 1, "")

// oneArg requires one argument.
func oneArg(name string) cobra.PositionalArgs { return nArgs(1, 1, name) }

// nArgs requires from least to most arguments, and says which are missing. most -1: any number.
func nArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least || least == 1 && most == 1 && args[0] == "":
			return usage(cmd, fmt.Errorf("name %s", what))
		case most >= 0 && len(args) > most:
			return usage(cmd, fmt.Errorf("unexpected argument %q", args[most]))
		}
		return nil
	}
}

// agentArg checks that a command line names one of these agents, and nothing else.
func agentArg(cmd *cobra.Command, args, names []string) error {
	known := strings.Join(names, ", ")
	switch {
	case len(args) == 0:
		return usage(cmd, fmt.Errorf("which agent? choose one of %s", known))
	case len(args) > 1:
		return usage(cmd, fmt.Errorf("unexpected argument %q", args[1]))
	case !slices.Contains(names, args[0]):
		return usage(cmd, fmt.Errorf("unknown agent %q: choose one of %s", args[0], known))
	}
	return nil
}

func exitCode(err error) int {
	var e *exitError
	var wrong *config.Error
	var signal *process.Interrupted
	var agent *process.NotStarted
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &wrong):
		return exitUsage
	case errors.As(err, &agent):
		return agent.Code
	case errors.Is(err, terminal.ErrInterrupted):
		return exitSignal + int(syscall.SIGINT)
	case errors.As(err, &signal):
		if n, ok := signal.Signal.(syscall.Signal); ok {
			return exitSignal + int(n)
		}
	}
	return exitFailed
}

// printError prints an error for a person.
func printError(w io.Writer, err error) {
	var e *exitError
	if errors.As(err, &e) && e.err == nil {
		return
	}
	fmt.Fprintln(w, "stet:", err)
	if e != nil && e.help != "" {
		fmt.Fprintf(w, "See '%s --help'.\n", e.help)
	}
}
