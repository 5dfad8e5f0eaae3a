package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// Exit codes of a shell for a program that was not started.
const (
	notExecutable = 126
	notFound      = 127
)

// NotStarted is the error of a program that was not started. Code is the exit code that a shell would return.
type NotStarted struct {
	Code int
	err  error
}

func (e *NotStarted) Error() string { return e.err.Error() }
func (e *NotStarted) Unwrap() error { return e.err }

// Run runs a program in the foreground, with the terminal and with every signal that
// comes from signals, and returns its exit code as a shell would give it. An error
// means that the program was not started. started is called with its process id; it may be nil.
func Run(ctx context.Context, cmd *exec.Cmd, signals <-chan os.Signal, started func(pid int)) (int, error) {
	if s := pending(signals); s != nil {
		return 0, &Interrupted{s}
	}
	if err := cmd.Start(); err != nil {
		return 0, &NotStarted{notExecutable, fmt.Errorf("%s: %w", cmd.Args[0], err)}
	}
	if started != nil {
		started(cmd.Process.Pid)
	}
	ended := make(chan struct{})
	forwarding := make(chan struct{})
	go func() {
		defer close(forwarding)
		for {
			select {
			case s := <-signals:
				if sharesTerminal(s) {
					continue // the terminal has also sent it to the child
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
	pending(signals) // signals that are left were for the child
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("%s: %w", cmd.Args[0], err)
	}
	return exitStatus(cmd.ProcessState), nil
}

// LookPath finds a command in the PATH of this process, as a shell does. The error says why there is none.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, syscall.EISDIR):
		return "", &NotStarted{notExecutable, fmt.Errorf("%s: is a directory", name)}
	case errors.Is(err, fs.ErrPermission):
		return "", &NotStarted{notExecutable, fmt.Errorf("%s: permission denied", name)}
	default:
		return "", &NotStarted{notFound, fmt.Errorf("%s: command not found", name)}
	}
}
