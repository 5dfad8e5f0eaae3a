package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
)

// runChild runs a command in the foreground, with the terminal and with every
// signal that stet gets, and returns its exit code as a shell would give it.
// An error means that it could not be started.
func (p *program) runChild(ctx context.Context, args, env []string) (int, error) {
	path, err := p.lookPath(args[0])
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env, cmd.Dir = env, p.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.out, p.err

	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, &exitError{code: exitNotRun, err: fmt.Errorf("%s: %w", args[0], err)}
	}
	ended := make(chan struct{})
	forwarding := make(chan struct{})
	go func() {
		defer close(forwarding)
		for {
			select {
			case s := <-signals:
				if p.sharesTerminal(s) {
					continue // the terminal has sent it to the child too
				}
				_ = cmd.Process.Signal(s) // the child may just have ended
			case <-ctx.Done():
				_ = cmd.Process.Kill()
				<-ended
				return
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	<-forwarding
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("%s: %w", args[0], err)
	}
	return exitStatus(cmd.ProcessState), nil
}

// lookPath finds a command in the PATH of p, and says why when it does not.
func (p *program) lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, fs.ErrPermission):
		return "", &exitError{code: exitNotRun, err: fmt.Errorf("%s: permission denied", name)}
	default:
		return "", &exitError{code: exitNotFound, err: fmt.Errorf("%s: command not found", name)}
	}
}
