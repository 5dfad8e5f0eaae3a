//go:build !linux

package e2e

import (
	"errors"
	"os/exec"
)

// isolate makes cmd fail: there are no network namespaces here, and no agent
// is started with a network.
func isolate(cmd *exec.Cmd) { cmd.Err = errors.New("network namespaces need Linux") }

func loopbackUp() error { return nil }

func group(*exec.Cmd) {}
