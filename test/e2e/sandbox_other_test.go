//go:build !linux

package e2e

import (
	"errors"
	"os/exec"
)

// isolations make the command fail: this system has no network namespaces, and no agent may be started with a network.
var isolations = []func(cmd *exec.Cmd){
	func(cmd *exec.Cmd) { cmd.Err = errors.New("network namespaces need Linux") },
}

func loopbackUp() error { return nil }

func group(*exec.Cmd) {}
