package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// runChild runs the program at path in the foreground, with the terminal and
// with every signal that comes from signals, and returns its exit code as a
// shell would give it. An error means that it was not started.
func (p *program) runChild(ctx context.Context, path string, args, env []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env, cmd.Dir = env, p.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, unchecked(p.out), p.err

	if s := pending(signals); s != nil {
		return 0, interrupted(s)
	}
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
				if sharesTerminal(s) {
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
	err := cmd.Wait()
	close(ended)
	<-forwarding
	pending(signals) // what is left was the child's
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("%s: %w", args[0], err)
	}
	return exitStatus(cmd.ProcessState), nil
}

// lookPath finds a command as a shell would, in the PATH of this process, and
// says why when it does not.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, syscall.EISDIR):
		return "", &exitError{code: exitNotRun, err: fmt.Errorf("%s: is a directory", name)}
	case errors.Is(err, fs.ErrPermission):
		return "", &exitError{code: exitNotRun, err: fmt.Errorf("%s: permission denied", name)}
	default:
		return "", &exitError{code: exitNotFound, err: fmt.Errorf("%s: command not found", name)}
	}
}
