//go:build !unix

package postgrestest

import (
	"errors"
	"os/exec"
)

func unprivileged(*exec.Cmd, ...string) error { return nil }

func kill(int) error { return errors.New("not on this system") }
